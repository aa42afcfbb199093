/** How a turn can end, in words: what happened, then what to do. */

export interface Ending {
  text: string;
  tone: "muted" | "warn" | "bad";
  action: "continue" | "again" | "new" | null;
}

export const ENDINGS: Record<string, Ending> = {
  cancelled: { text: "Stopped by you.", tone: "muted", action: "continue" },
  unanswered: { text: "Stopped by you.", tone: "muted", action: "again" }, // before anything was said
  interrupted: {
    text: "The server was restarted while this was written. This is what had arrived.",
    tone: "warn",
    action: "again",
  },
  max_tokens: { text: "The answer reached its length limit. Ask it to go on.", tone: "warn", action: "continue" },
  refusal: { text: "The model declined to answer this.", tone: "warn", action: null },
  model_context_window_exceeded: { text: "This session no longer fits the model.", tone: "warn", action: "new" },
};

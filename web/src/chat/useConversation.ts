/** The open session, and the outbox that belongs to it. */
import { useCallback, useEffect, useMemo, useRef } from "react";
import { openApprovals, type Turn } from "../fold/screen";
import { Conversation } from "../wire/conversation";
import { useValue } from "../wire/observable";
import { Outbox, outgoing, type Outgoing } from "../wire/outbox";
import { look } from "../approvals/pending";
import { load, refresh, replace } from "../wire/sessions";

const boxes = new Map<string, Outbox>();

const STATES = { running: "running", waiting: "waiting", done: "idle", failed: "idle" } as const;

/** One for each session of the page, so that nothing on its way is forgotten by a switch. */
export function outboxOf(sessionId: string | null): Outbox {
  const key = sessionId ?? "";
  const box = boxes.get(key) ?? new Outbox(sessionId);
  boxes.set(key, box);
  return box;
}

export function useConversation(sessionId: string) {
  const conversation = useMemo(() => new Conversation(sessionId), [sessionId]);
  const outbox = outboxOf(sessionId);
  const shown = useValue(conversation.shown);
  const sending = useValue(outbox.sending);
  const queue = useValue(outbox.queue);
  useEffect(() => {
    void conversation.open();
    return () => conversation.close();
  }, [conversation]);

  const newest = shown.screen.turns.at(-1) ?? null;
  const state = newest?.state ?? "done";
  const isBusy = state === "running" || state === "waiting";

  useEffect(() => outbox.confirm(new Set(shown.screen.turns.filter((t) => t.question).map((t) => t.id))), [outbox, shown.screen.turns, sending]);
  // A message from before a reload, of which nobody knows whether it arrived: sent again, once.
  useEffect(() => {
    const message = outbox.sending.get();
    if (message && !message.failed) void outbox.send(message);
  }, [outbox]);
  useEffect(() => {
    if (shown.status !== "ready" || isBusy || sending || queue.length === 0) return;
    let stands = true; // until something of this changes
    void outbox.sendNext(() => stands);
    return () => void (stands = false);
  }, [outbox, queue, isBusy, sending, shown.status]);
  // The list shows how the session stands, and a title that the first exchange has given it.
  useEffect(() => {
    if (shown.status !== "ready") return;
    void load(sessionId).then((session) => replace({ ...session, state: STATES[state] })).catch(() => refresh()).catch(() => {}); // the list looks again by itself
    void look().catch(() => {});
  }, [sessionId, shown.status, state]);

  // The same function while an answer grows: every row knows it.
  const again = useCallback(
    (turn: Turn): void => {
      if (!turn.question || outbox.sending.get()) return;
      const { content, files } = turn.question;
      const message = outgoing(content, files, null);
      if (isBusy) outbox.enqueue(message);
      else void outbox.send(message);
    },
    [outbox, isBusy],
  );

  return {
    conversation,
    outbox,
    shown,
    sending,
    pending: usePending(sending, newest),
    queue,
    newest,
    isBusy,
    waitsFor: newest ? openApprovals(newest) : [],
    again,
  };
}

/** The message on its way, until its turn is on the screen: also where the turn comes before the answer to the sending. */
function usePending(sending: Outgoing | null, newest: Turn | null): Outgoing | null {
  const sent = useRef({ requestId: "", newest: "" });
  if (sending && sending.requestId !== sent.current.requestId) {
    sent.current = { requestId: sending.requestId, newest: newest?.id ?? "" };
  }
  if (!sending || !newest?.question) return sending;
  const isNew = newest.id !== sent.current.newest && newest.question.content === sending.text;
  const isHere = sending.turnId === null ? isNew && !sending.failed : newest.id === sending.turnId;
  return isHere ? null : sending;
}

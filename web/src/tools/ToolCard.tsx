/** A call: what it is in words, how it stands, and what came of it. */
import { memo, useId, type ReactNode } from "react";
import { Ban, Check, ChevronRight, CircleHelp, X } from "lucide-react";
import type { ShownCall } from "../chat/rows";
import { usePanel } from "../chat/panels";
import { marked } from "../markdown/links";
import { titleOf } from "../wire/config";
import { duration } from "../ui/format";
import { useSeconds } from "../ui/time";
import { summary } from "./body";
import { Doubt } from "./Doubt";
import { Json } from "./Json";
import { outcomeOf, type Outcome } from "./outcome";
import { ToolBody } from "./ToolBody";

const ICONS: Record<Outcome, ReactNode> = {
  running: <span className="spinner" aria-label="running" />,
  done: <Check className="ok" aria-label="done" />,
  failed: <X className="bad" aria-label="failed" />,
  refused: <Ban className="muted" aria-label="refused" />,
  cut: <Ban className="muted" aria-label="cut off" />,
  doubt: <CircleHelp className="warn" aria-label="in doubt" />,
};

// Said in the place of a duration, which a call that never ran does not have.
const NEVER_RAN: Partial<Record<Outcome, string>> = { refused: "Not allowed", cut: "Cut off" };

export const ToolCard = memo(function ToolCard({ call, over }: { call: ShownCall; over: boolean }): ReactNode {
  const outcome = outcomeOf(call, over);
  const [open, toggle] = usePanel(`tool:${call.key}`, outcome === "failed" || outcome === "doubt");
  const id = useId();
  const title = marked(titleOf(call.name));
  const words = call.ofClient && outcome === "running" ? "The app that asked runs this" : "";
  const line = words || marked(summary(call.args, call.result?.success ? call.result.value : undefined));
  return (
    <section className="card" data-outcome={outcome} aria-labelledby={id}>
      <button type="button" className="card-head" aria-expanded={open} onClick={toggle}>
        {ICONS[outcome]}
        <b id={id}>{title}</b>
        <span className="card-time">
          {NEVER_RAN[outcome] ?? (call.result ? duration(call.result.duration) : <Running since={call.startedAt} over={over} />)}
        </span>
        <ChevronRight className="chevron" aria-hidden />
      </button>
      {!open && line && <div className="card-line">{line}</div>}
      {open && <Body call={call} outcome={outcome} title={title} />}
    </section>
  );
});

function Running({ since, over }: { since: string; over: boolean }): ReactNode {
  const seconds = useSeconds(over ? null : since);
  return seconds >= 1 ? `${seconds} s` : "";
}

function Body({ call, outcome, title }: { call: ShownCall; outcome: Outcome; title: string }): ReactNode {
  const hasArgs = Object.keys(call.args).length > 0;
  return (
    <div className="card-body">
      {hasArgs && (
        <>
          <h4>Asked for</h4>
          <Json value={call.args} />
        </>
      )}
      {outcome === "doubt" && <Doubt toolUseId={call.key} title={title} />}
      {call.result && outcome === "done" && (
        <>
          <h4>Result</h4>
          <ToolBody value={call.result.value} name={title} />
        </>
      )}
      {call.result && outcome !== "done" && outcome !== "doubt" && (
        <p className={outcome === "failed" ? "bad" : "muted"}>
          {marked(call.result.error ?? "It failed.")} <span className="muted">The model was told.</span>
        </p>
      )}
      {!call.result && <p className="muted">{outcome === "running" ? (call.ofClient ? "The app that asked runs this and gives the result. It is not decided here." : "Running.") : "It was cut off."}</p>}
    </div>
  );
}

/** A question to a person. While it is open it has buttons; afterwards it is one line. */
import { memo, useEffect, useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Check, Clock, ShieldCheck, X } from "lucide-react";
import type { Approval, Decision } from "../fold/screen";
import { marked } from "../markdown/links";
import { Json } from "../tools/Json";
import { clock, left, money } from "../ui/format";
import { useNow } from "../ui/time";
import { schemaOf } from "../wire/config";
import { answeredHere, handsFocus, useAnswer } from "./answering";
import { ArgumentFields } from "./ArgumentFields";
import { changed, edited, fieldsOf } from "./edits";
import { approveLabel, approvers, mayAnswer, isDestructive, outcome, question } from "./words";

const SOON = 600_000; // ms before the end from which the time is told live
const seenOpen = new Set<string>(); // by this page: a reload does not know it

/** In a conversation: one line, once it is answered. */
export const ApprovalCard = memo(function ApprovalCard({ approval, over = false }: { approval: Approval; over?: boolean }): ReactNode {
  const [elsewhere, setElsewhere] = useState(false);
  if (approval.decision) return <Answered approval={approval} />;
  if (over || elsewhere) return <p className="approval-line muted">{elsewhere ? "Answered in another window." : "Cancelled by Stop. Nothing was written."}</p>;
  return <OpenCard approval={approval} decided={(decision) => setElsewhere(decision === null)} />;
});

function Answered({ approval }: { approval: Approval }): ReactNode {
  const decision = approval.decision!;
  const Icon = decision.approved ? Check : X;
  const line = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    if (handsFocus.delete(approval.key) && document.activeElement === document.body) line.current?.focus({ preventScroll: true });
  }, [approval.key]);
  return (
    <p className="approval-line" ref={line} tabIndex={-1} data-approved={decision.approved}>
      <Icon className={decision.approved ? "ok" : "muted"} aria-hidden />
      <b>{question(approval)}</b>
      <span>{outcome(approval, clock(decision.at), seenOpen.has(approval.key) && !answeredHere.has(approval.key))}</span>
    </p>
  );
}

interface Props {
  approval: Approval;
  fixed?: boolean; // its arguments cannot be changed
  closed?: string; // how it ended: it stays as large as it is, and nobody can answer it
  decided: (decision: Decision | null) => void; // null: somebody else was first
}

export function OpenCard({ approval, fixed = false, closed = "", decided }: Props): ReactNode {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [rejecting, setRejecting] = useState(false);
  const [reason, setReason] = useState("");
  const [json, setJson] = useState(false);
  const { sending, failed, answer } = useAnswer(approval, decided);
  const head = useRef<HTMLHeadingElement>(null);
  const buttons = useRef<HTMLElement>(null);
  const id = useId();
  const fields = fieldsOf(approval.args, schemaOf(approval.toolName));
  const changes = changed(approval.args, texts);
  const args = edited(approval.args, fields, texts);
  const mine = mayAnswer(approval.mayDecide);
  const others = mine ? null : approvers(approval.mayDecide);

  const decide = (approved: boolean): void => {
    if (!mine || closed || (approved && !args)) return;
    void answer({ approved, ...(!approved && reason && { reason }), ...(approved && args && changes.length > 0 && { args }) });
  };
  useEffect(() => void seenOpen.add(approval.key), [approval.key]);
  useLayoutEffect(() => {
    if (rejecting || json) buttons.current?.scrollIntoView({ block: "nearest" }); // the card has grown
  }, [rejecting, json]);
  useLayoutEffect(() => {
    if (closed && handsFocus.delete(approval.key)) head.current?.focus({ preventScroll: true });
  }, [closed, approval.key]);
  const press = (event: KeyboardEvent): void => {
    const composing = event.nativeEvent.isComposing || event.keyCode === 229;
    const inReason = event.target instanceof HTMLInputElement && event.target.name === "reason";
    if (event.key === "Enter" && !composing && (event.ctrlKey || event.metaKey || inReason)) {
      event.preventDefault();
      event.stopPropagation();
      decide(!rejecting);
    }
    if (event.key === "Escape" && rejecting) {
      event.stopPropagation();
      setRejecting(false);
    }
  };
  return (
    <section className={closed ? "approval closed" : "approval"} aria-labelledby={id} onKeyDown={press} data-row={approval.key} data-approval={approval.key}>
      <header>
        <ShieldCheck className="warn" aria-hidden />
        <h3 id={id} tabIndex={-1} ref={head}>{question(approval)}</h3>
        <Expiry at={approval.expiresAt} />
      </header>
      <div className="approval-body">
        <p>
          <b>{approval.agent.name}</b> asks: <bdi>{marked(approval.description)}</bdi>.{" "}
          <span className="while-open">
            Nothing is written until {others ?? "you"} {others ? "approves" : "approve"}.
            {approval.costSoFarUsd !== null && <span className="muted"> This turn has cost {money(approval.costSoFarUsd)} so far.</span>}
          </span>
        </p>
        {json ? (
          <Json value={args ?? approval.args} whole />
        ) : (
          <ArgumentFields args={approval.args} fields={fields} texts={texts} disabled={sending !== null || !mine || fixed || closed !== ""} change={(name, text) => setTexts((now) => ({ ...now, [name]: text }))} />
        )}
        {rejecting && (
          <input type="text" name="reason" className="reason" autoFocus disabled={closed !== ""} value={reason} placeholder="Why not? The model is told." aria-label="Reason" onChange={(event) => setReason(event.target.value)} />
        )}
        {failed && <p className="bad" role="alert">{failed}</p>}
      </div>
      <footer className="actions" ref={buttons}>
        {closed && <p className="closing" role="status">{closed}</p>}
        {!mine && <span className="pill warn">Waits for {others}</span>}
        {mine && !rejecting && (
          <button type="button" className={isDestructive(approval) ? "button primary destructive" : "button primary"} disabled={sending !== null || !args} onClick={() => decide(true)}>
            {sending === "approve" && <span className="spinner" aria-hidden />}
            {approveLabel(approval, changes.length)}
          </button>
        )}
        {mine && (
          <button type="button" className="button danger" disabled={sending !== null} onClick={() => (rejecting ? decide(false) : setRejecting(true))}>
            {sending === "reject" && <span className="spinner" aria-hidden />}
            {rejecting ? "Reject" : "Reject…"}
          </button>
        )}
        <button type="button" className="button ghost" onClick={() => (rejecting ? setRejecting(false) : setJson(!json))}>
          {rejecting ? "Back" : json ? "Show as fields" : "Show as JSON"}
        </button>
        {mine && <small>{rejecting ? "↵ reject" : "Ctrl ↵ approve"}</small>}
      </footer>
    </section>
  );
}

function Expiry({ at }: { at: string }): ReactNode {
  const rest = Date.parse(at) - Date.now();
  const now = useNow(true, rest < SOON ? 1000 : 30_000);
  const ms = Date.parse(at) - now;
  return (
    <time dateTime={at} className={ms < 60_000 ? "expiry bad" : "expiry"}>
      <Clock aria-hidden /> {ms > 0 ? `expires in ${left(ms)}` : "expired"}
    </time>
  );
}

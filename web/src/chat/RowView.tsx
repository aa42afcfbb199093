/** One row of the conversation. A kind without a view is a compile error. */
import { memo, type ReactNode } from "react";
import { ApprovalCard } from "../approvals/ApprovalCard";
import { ToolCard } from "../tools/ToolCard";
import { agentColour } from "../ui/agents";
import { htmlOf } from "../ui/clipboard";
import { CopyButton } from "../ui/CopyButton";
import { clock, count, exact, money } from "../ui/format";
import type { AgentRef } from "../wire/events";
import type { Turn } from "../fold/screen";
import { Answer } from "./Answer";
import { Ending } from "./Ending";
import type { Row } from "./rows";
import { UserMessage } from "./UserMessage";
import { Waiting } from "./Waiting";

export const RowView = memo(function RowView({ row }: { row: Row }): ReactNode {
  return (
    <div className={classes(row)} data-kind={row.kind}>
      {view(row)}
    </div>
  );
});

function classes(row: Row): string {
  return ["row", row.agent && `spoken ${agentColour(row.agent.id)}`, row.last && "last"].filter(Boolean).join(" ");
}

function view(row: Row): ReactNode {
  const over = row.turn.state === "done" || row.turn.state === "failed";
  switch (row.kind) {
    case "question":
      return <UserMessage text={row.question.content} files={row.question.files} at={row.question.at} id={row.key} />;
    case "head":
      return <Head agent={row.agent!} from={row.from} />;
    case "answer":
      return <Answer answer={row.answer} open={row.open} />;
    case "tools":
      return (
        <div className="tools">
          {row.calls.map((call) => (
            <ToolCard key={call.key} call={call} over={over} />
          ))}
        </div>
      );
    case "approval":
      return <ApprovalCard approval={row.approval} over={over} />;
    case "ending":
      return <Ending turn={row.turn} reason={row.reason} />;
    case "waiting":
      return <Waiting since={row.since} />;
    case "footer":
      return <Footer turn={row.turn} />;
    case "unknown":
      return <p className="muted">Something this page does not know ({row.item.type})</p>;
  }
}

export function Badge({ agent }: { agent: AgentRef }): ReactNode {
  return <span className={`badge ${agentColour(agent.id)}`}>{agent.name.charAt(0).toUpperCase()}</span>;
}

function Head({ agent, from }: { agent: AgentRef; from: string | null }): ReactNode {
  return (
    <div className="head">
      <Badge agent={agent} />
      <b>{agent.name}</b>
      {from && <span className="muted">· handed over by {from}</span>}
    </div>
  );
}

function Footer({ turn }: { turn: Turn }): ReactNode {
  const answers = turn.items.filter((item) => item.kind === "answer");
  const text = (): string => answers.map((answer) => answer.content).filter(Boolean).join("\n\n");
  // As it is drawn. In a long session not all of it may be: then there is only the text.
  const html = (): string => {
    const drawn = answers.filter((answer) => answer.content).map((answer) => document.querySelector(`[data-row="${answer.key}"]`));
    return drawn.every((element) => element !== null) ? htmlOf(...drawn.flatMap((element) => [...element.querySelectorAll(".md")])) : "";
  };
  const at = answers.at(-1)!.at;
  return (
    <div className="footer">
      {answers.some((answer) => answer.content) && <CopyButton text={text} html={html} label="Copy answer" />}
      {turn.tokens > 0 && <span>{count(turn.tokens)} tokens</span>}
      {turn.tokens > 0 && <span>{money(turn.costUsd)}</span>}
      <time dateTime={at} title={exact(at)}>
        {clock(at)}
      </time>
    </div>
  );
}

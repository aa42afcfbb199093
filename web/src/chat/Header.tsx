/** Above the conversation: its title, what it has cost, and how the connection stands. */
import { useState, type ReactNode } from "react";
import { useValue } from "../wire/observable";
import { connection } from "../wire/live";
import type { Session } from "../wire/sessions";
import type { Shown } from "../wire/conversation";
import { isAuditor, me } from "../wire/config";
import { useWayBack } from "../ui/focus";
import { Menu } from "../ui/Menu";
import { TitleField } from "../ui/TitleField";
import { count, money } from "../ui/format";
import { clock } from "../ui/format";
import { ConnectionDot } from "../ui/ConnectionDot";
import { Link } from "wouter";
import { ScrollText } from "lucide-react";

export function Header({ sessionId, session, shown }: { sessionId: string; session?: Session; shown: Shown }): ReactNode {
  const state = useValue(connection);
  const who = useValue(me);
  return (
    <>
      <Title sessionId={sessionId} title={session?.title ?? ""} />
      <div className="meter">
        <Meter shown={shown} />
        {isAuditor(who) && (
          <Link href={`/s/${sessionId}/audit`} className="icon-button wide-only" aria-label="Audit this session" title="Audit this session">
            <ScrollText aria-hidden />
          </Link>
        )}
        <ConnectionDot state={state} />
      </div>
    </>
  );
}

function Title({ sessionId, title }: { sessionId: string; title: string }): ReactNode {
  const [editing, edit] = useState(false);
  const [button, goBack] = useWayBack<HTMLButtonElement>();
  return (
    <h1 className="title">
      {editing ? (
        <TitleField sessionId={sessionId} title={title} done={(byKey) => (goBack(byKey), edit(false))} />
      ) : (
        <button type="button" ref={button} onClick={() => edit(true)} title="Rename">
          {title || "New session"}
        </button>
      )}
    </h1>
  );
}

function Meter({ shown }: { shown: Shown }): ReactNode {
  if (shown.status !== "ready") return null; // nobody knows yet what it has cost
  const { turns } = shown.screen;
  const tokens = turns.reduce((sum, turn) => sum + turn.tokens, 0);
  const costs = turns.map((turn) => turn.costUsd);
  const cost = costs.includes(null) ? null : costs.reduce<number>((sum, each) => sum + each!, 0);
  const more = shown.before !== null ? "≥ " : "";
  return (
    <Menu
      className="meter-button"
      name={`${more}${count(tokens)} tokens, ${money(cost)}: by turn`}
      label={
        <>
          <span className="wide-only">
            <b>{more + count(tokens)}</b> tokens
          </span>
          <b>{money(cost)}</b>
        </>
      }
    >
      {() => (
        <table className="by-turn" tabIndex={0} aria-label="By turn">
          <thead>
            <tr><th>Turn</th><th className="align-right">From cache</th><th className="align-right">Tokens</th><th className="align-right">Cost</th></tr>
          </thead>
          <tbody>
            {[...turns].reverse().map((turn) => (
              <tr key={turn.id}>
                <td>{clock(turn.at)} {turn.question?.content.slice(0, 80)}</td>
                <td className="align-right">{count(fromCache(turn))}</td>
                <td className="align-right">{count(turn.tokens)}</td>
                <td className="align-right">{money(turn.costUsd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Menu>
  );
}

function fromCache(turn: Shown["screen"]["turns"][number]): number {
  return turn.items.reduce((sum, item) => sum + (item.kind === "answer" ? (item.usage?.cacheReadTokens ?? 0) : 0), 0);
}

/** Before the first message: who is there, and three things to try. */
import { useState, type ReactNode } from "react";
import { useLocation } from "wouter";
import { agentColour } from "../ui/agents";
import { Badge } from "./RowView";
import { config } from "../wire/config";
import { connection, isLost } from "../wire/live";
import { sentence } from "../wire/http";
import { useValue } from "../wire/observable";
import { change, create, setThinking } from "../wire/sessions";
import { leaveRoom } from "../files/uploads";
import { ConnectionDot } from "../ui/ConnectionDot";
import { Frame } from "../ui/Frame";
import { useShortcuts } from "../ui/shortcuts";
import { Composer } from "./Composer";
import { outboxOf } from "./useConversation";
import { suggestions } from "./suggestions";

export function NewPage(): ReactNode {
  const outbox = outboxOf(null);
  const facts = useValue(config);
  const state = useValue(connection);
  const [, go] = useLocation();
  const [agent, setAgent] = useState<string | null>(null);
  const [thinking, setChoice] = useState({ enabled: false, budget: 10_000 });
  const [once, setOnce] = useState<number | null>(null);
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  useShortcuts({ stop: null });

  const send = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    try {
      const waiting = await leaveRoom();
      const session = waiting && !agent ? waiting : await create(agent ?? undefined);
      if (waiting && agent) void change(waiting.id, { archived: true }).catch(() => {}); // nothing is ever said in it
      if (thinking.enabled) await setThinking(session, true, thinking.budget);
      const message = outbox.take(once);
      void outboxOf(session.id).send(message);
      go(`/s/${session.id}`);
    } catch (error) {
      setFailed(sentence(error));
    } finally {
      setBusy(false);
    }
  };
  const agents = facts?.agents ?? [];
  return (
    <Frame header={<><h1 className="title">New session</h1><div className="meter"><ConnectionDot state={state} /></div></>}>
      <div className="scroll">
        <div className="empty">
          <h2>What should get done?</h2>
          <ul className="agents" aria-label="Agents">
            {agents.map((each) => (
              <li key={each.id}>
                <button type="button" className={`agent-card ${agentColour(each.id)}`} aria-pressed={agent === each.id} onClick={() => setAgent(agent === each.id ? null : each.id)}>
                  <Badge agent={each} />
                  <span>
                    <b>{each.name}</b>
                    <small>{each.description ?? ""}</small>
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {agents.length > 1 && <p className="muted small-text">{agent ? "Only this agent answers." : `${agents[0]!.name} answers first. Choose an agent to speak with that one alone.`}</p>}
          <ul className="suggestions" aria-label="Things to try">
            {(facts ? suggestions(agents, agent) : []).map((text) => (
              <li key={text}>
                <button type="button" className="suggestion" onClick={() => outbox.write(text)}>
                  {text}
                </button>
              </li>
            ))}
          </ul>
        </div>
      </div>
      <Composer
        outbox={outbox}
        busy={false}
        waits={null}
        offline={isLost(state)}
        refused={null}
        thinking={{ ...thinking, once, set: (enabled, budget) => setChoice({ enabled, budget }), setOnce }}
        send={() => void send()}
        stop={null}
        lastOwn={() => ""}
        above={failed ? <p className="notice bad" role="alert">{failed}</p> : null}
      />
    </Frame>
  );
}

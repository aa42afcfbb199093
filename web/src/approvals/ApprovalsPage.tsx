/** The inbox: every open question, oldest first, each with a way into its session. */
import { useEffect, type ReactNode } from "react";
import { Link } from "wouter";
import type { Approval } from "../fold/screen";
import { marked } from "../markdown/links";
import { config } from "../wire/config";
import { useValue } from "../wire/observable";
import { list } from "../wire/sessions";
import { Frame } from "../ui/Frame";
import { exact } from "../ui/format";
import { useShortcuts } from "../ui/shortcuts";
import { ApprovalCard } from "./ApprovalCard";
import { look, looked, pending, type Pending } from "./pending";

export function ApprovalsPage(): ReactNode {
  const open = useValue(pending);
  const isKnown = useValue(looked);
  const { sessions } = useValue(list);
  useShortcuts({ stop: null });
  useEffect(() => {
    const timer = setInterval(() => void look().catch(() => {}), 2000);
    return () => clearInterval(timer);
  }, []);
  return (
    <Frame title="Approvals">
      <div className="scroll">
        <div className="column inbox">
          {!isKnown && <p className="muted loading" role="status">Loading…</p>}
          {isKnown && open.length === 0 && (
            <div className="empty">
              <h2>Nothing waits for you</h2>
              <p className="muted">When an agent wants to change something, the question appears here and in its session.</p>
            </div>
          )}
          {open.map((each) => (
            <article key={each.id}>
              <p className="inbox-head">
                {each.sessionId ? (
                  <Link href={`/s/${each.sessionId}`}>{sessions.find((one) => one.id === each.sessionId)?.title ?? "Session"}</Link>
                ) : (
                  <span>{marked(each.askedBy)} asked for this</span>
                )}
                <time dateTime={each.createdAt}>{exact(each.createdAt)}</time>
              </p>
              <ApprovalCard approval={asApproval(each)} fixed={isFourEyes(each)} />
            </article>
          ))}
        </div>
      </div>
    </Frame>
  );
}

/** Two people agree on the same call: the second cannot change it. */
const isFourEyes = (each: Pending): boolean => each.mayDecide.startsWith("others");

function asApproval(each: Pending): Approval {
  const agent = config.get()?.agents.find((one) => one.tools?.some((tool) => tool.name === each.toolName));
  return {
    kind: "approval",
    key: each.id,
    agent: { id: agent?.id ?? "", name: agent?.name ?? "An agent" },
    toolUseId: each.toolUseId ?? "",
    toolName: each.toolName,
    args: each.args,
    description: each.description,
    expiresAt: each.expiresAt,
    mayDecide: null, // who sees it here may decide it
    costSoFarUsd: each.costSoFarUsd ?? null,
    decision: null,
  };
}

/** The inbox: every open question, oldest first, each with a way into its session. */
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import type { Approval, Decision } from "../fold/screen";
import { marked } from "../markdown/links";
import { config } from "../wire/config";
import { useValue } from "../wire/observable";
import { list, refresh } from "../wire/sessions";
import { Frame } from "../ui/Frame";
import { clock, exact } from "../ui/format";
import { useShortcuts } from "../ui/shortcuts";
import { OpenCard } from "./ApprovalCard";
import { useInbox, type Item } from "./inbox";
import { look, looked, type Pending } from "./pending";
import { outcome } from "./words";

const OVER = "Answered in another window, withdrawn or expired.";

export function ApprovalsPage(): ReactNode {
  const items = useInbox();
  const isKnown = useValue(looked);
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
          {isKnown && items.length === 0 && (
            <div className="empty">
              <h2>Nothing waits for you</h2>
              <p className="muted">When an agent wants to change something, the question appears here and in its session.</p>
            </div>
          )}
          {items.map((item) => <Asked key={item.asked.id} item={item} />)}
        </div>
      </div>
    </Frame>
  );
}

function Asked({ item: { asked, isOpen } }: { item: Item }): ReactNode {
  const { sessions } = useValue(list);
  const [closed, close] = useState("");
  const decided = (decision: Decision | null): void => {
    close(decision ? outcome({ ...asApproval(asked), decision }, clock(decision.at), false) : "Answered in another window.");
    void look().catch(() => {});
    void refresh().catch(() => {}); // how its session stands
  };
  return (
    <article>
      <p className="inbox-head">
        {asked.sessionId ? (
          <Link href={`/s/${asked.sessionId}`}>{sessions.find((one) => one.id === asked.sessionId)?.title ?? "Session"}</Link>
        ) : (
          <span>{marked(asked.askedBy)} asked for this</span>
        )}
        <time dateTime={asked.createdAt}>{exact(asked.createdAt)}</time>
      </p>
      <OpenCard approval={asApproval(asked)} fixed={isFourEyes(asked)} closed={closed || (isOpen ? "" : OVER)} decided={decided} />
    </article>
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

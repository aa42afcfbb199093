/** A session: what was said, and where the user writes. */
import { useCallback, useMemo, useState, type ReactNode } from "react";
import { isOfClient } from "../approvals/clients";
import { waitsInWords } from "../approvals/words";
import { useValue } from "../wire/observable";
import { connection, isLost } from "../wire/live";
import { change, setThinking, useSession } from "../wire/sessions";
import { Frame } from "../ui/Frame";
import { MissingSession } from "../ui/MissingPage";
import { Announcer } from "../ui/Announcer";
import { useShortcuts } from "../ui/shortcuts";
import { ActionsContext } from "./Actions";
import { announcement } from "./announcements";
import { Composer } from "./Composer";
import { Header } from "./Header";
import { Notices } from "./Notices";
import { SessionContext } from "./SessionContext";
import { Transcript } from "./Transcript";
import { useBudget } from "./budget";
import { useConversation } from "./useConversation";
import { useStop } from "./useStop";
import { UserMessage } from "./UserMessage";
import { Waiting } from "./Waiting";

export function ChatPage({ id, embedded = false }: { id: string; embedded?: boolean }): ReactNode {
  const chat = useConversation(id);
  const { outbox, shown, sending, pending, queue, newest, isBusy, waitsFor } = chat;
  const session = useSession(id);
  const state = useValue(connection);
  const [once, setOnce] = useState<number | null>(null);
  const [sent, setSent] = useState(0);
  const budget = useBudget(id, `${shown.screen.turns.length} ${isBusy}`);
  const fill = useCallback((text: string) => outbox.write(text), [outbox]);
  const again = chat.again;
  const actions = useMemo(() => ({ fill, again }), [fill, again]);

  const send = (): void => {
    const message = outbox.take(once);
    setOnce(null);
    if (!isBusy) setSent(sent + 1); // also where the answer to the last sending is still on its way
    if (isBusy || sending) outbox.enqueue(message);
    else void outbox.send(message);
  };
  const restore = (): void => void change(id, { archived: false }).catch(() => {});
  const { stop, stopping, failed } = useStop(id, isBusy ? (newest?.id ?? null) : null);
  useShortcuts({ stop: isBusy ? stop : null });

  if (shown.status === "missing") return <MissingSession embedded={embedded} />;
  const thinking = {
    enabled: session?.thinking.enabled ?? false,
    budget: session?.thinking.budgetTokens ?? 10_000,
    once,
    set: (enabled: boolean, tokens: number) => void (session && setThinking(session, enabled, tokens)),
    setOnce,
  };
  return (
    <Frame header={<Header sessionId={id} session={session} shown={shown} />} embedded={embedded} active={id}>
      <SessionContext value={id}>
        <ActionsContext value={actions}>
          <Transcript conversation={chat.conversation} shown={shown} sent={sent}>
            {shown.status === "loading" && <p className="muted loading" role="status">Loading…</p>}
            {shown.status === "ready" && shown.screen.turns.length === 0 && !pending && <p className="beginning muted">Nothing has been said here yet.</p>}
            {shown.status === "failed" && <p className="bad" role="alert">This session could not be loaded. <button type="button" className="button small" onClick={() => location.reload()}>Reload</button></p>}
            {pending && (
              <div className="row">
                <UserMessage id="pending" text={pending.text} files={pending.files} at={pending.at} pending />
                {pending.failed ? (
                  <div className="ending bad" role="alert">
                    <p>{pending.failed}</p>
                    <button type="button" className="button small" onClick={() => void outbox.send(pending)}>Retry</button>
                    <button type="button" className="button ghost small" onClick={() => (outbox.sending.set(null), outbox.write(pending.text))}>Edit</button>
                  </div>
                ) : (
                  <Waiting since={pending.at} />
                )}
              </div>
            )}
          </Transcript>
          <Composer
            outbox={outbox}
            busy={isBusy}
            waits={waitsInWords(waitsFor)}
            offline={isLost(state)}
            refused={session?.archived ? "This session is archived. It takes no messages." : budget.refused}
            thinking={thinking}
            send={send}
            stop={isBusy ? stop : null}
            stopping={stopping}
            lastOwn={() => newest?.question?.content ?? ""}
            above={<Notices outbox={outbox} queue={queue} waitsFor={waitsFor.filter((each) => !isOfClient(each))} state={state} refreshed={shown.refreshed} notStopped={failed} warning={budget.warning} putAway={budget.putAway} restore={session?.archived ? restore : null} />}
          />
          <Announcer key={shown.status} text={announcement(newest)} urgent={newest?.failure?.error ?? ""} />
        </ActionsContext>
      </SessionContext>
    </Frame>
  );
}

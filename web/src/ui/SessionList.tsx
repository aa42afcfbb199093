/** The sessions by day, filtered as one types; Enter asks the server. */
import { useEffect, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { Ellipsis, Search } from "lucide-react";
import { useValue } from "../wire/observable";
import { change, lastActivity, list, more, refresh, type Session } from "../wire/sessions";
import { get, sentence } from "../wire/http";
import { grouped } from "./days";
import { useWayBack } from "./focus";
import { Menu } from "./Menu";
import { saveAs } from "./save";
import { TitleField } from "./TitleField";
import { stringify } from "../wire/json";

const AGAIN = 15_000; // ms between two looks at how sessions stand

export function SessionList({ active }: { active?: string }): ReactNode {
  const { sessions, cursor, search, archived, searchedAll, loaded } = useValue(list);
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  const attempt = (act: Promise<unknown>): void => void act.then(() => setFailed(""), (error: unknown) => setFailed(sentence(error)));
  useEffect(() => {
    const look = (): void => void (document.visibilityState === "visible" && refresh().catch(() => {}));
    look();
    const timer = setInterval(look, AGAIN);
    return () => clearInterval(timer);
  }, []);
  const fitting = sessions.filter((session) => (session.title ?? "").toLowerCase().includes(text.toLowerCase()) || search);
  return (
    <>
      <label className="search side-words">
        <Search aria-hidden />
        <input
          id="search"
          type="search"
          placeholder="Search sessions"
          aria-label="Search sessions"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            if (event.target.value === "" && search) attempt(refresh(""));
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.nativeEvent.isComposing) attempt(refresh(text.trim()));
            if (event.key === "Escape") {
              event.stopPropagation();
              setText("");
              if (search) attempt(refresh(""));
              event.currentTarget.blur();
            }
          }}
        />
        <kbd>Ctrl K</kbd>
      </label>
      <div className="sessions side-words">
        {failed && <p className="bad small-text none" role="alert">{failed}</p>}
        {archived && fitting.length > 0 && <p className="muted small-text none">Archived: to be read, not written to.</p>}
        {grouped(fitting).map(([day, some]) => (
          <section key={day} aria-label={day}>
            <h2>{day}</h2>
            <ul>
              {some.map((session) => (
                <Entry key={session.id} session={session} on={session.id === active} attempt={attempt} />
              ))}
            </ul>
          </section>
        ))}
        {loaded && fitting.length === 0 && <p className="muted small-text none">{nothing(text.trim(), search, archived)}</p>}
        {fitting.length > 0 && text.trim() !== search && <p className="muted small-text none">Enter searches everything.</p>}
        {searchedAll === false && <p className="muted small-text none">Older sessions were looked for by their titles only.</p>}
        {cursor && (
          <button type="button" className="button ghost small" onClick={() => attempt(more())}>
            Older sessions
          </button>
        )}
        <button type="button" className="button ghost small" onClick={() => attempt(refresh(search, !archived))}>
          {archived ? "Back to the sessions" : "Archived sessions"}
        </button>
      </div>
    </>
  );
}

function nothing(text: string, searched: string, archived: boolean): string {
  if (text) return text === searched ? "Nothing found." : "Nothing found. Enter searches everything.";
  return archived ? "Nothing is archived." : "No sessions yet.";
}

const DOTS = { running: "running", waiting: "waits for you", idle: "" };

function Entry({ session, on, attempt }: { session: Session; on: boolean; attempt: (act: Promise<unknown>) => void }): ReactNode {
  const [, go] = useLocation();
  const state = session.state ?? "idle";
  const [editing, edit] = useState(false);
  const [link, goBack] = useWayBack<HTMLAnchorElement>();
  const archive = async (): Promise<void> => {
    await change(session.id, { archived: !session.archived });
    if (on && !session.archived) go("/");
  };
  if (editing) {
    return (
      <li className="entry">
        <TitleField sessionId={session.id} title={session.title ?? ""} done={(byKey) => (goBack(byKey), edit(false))} />
      </li>
    );
  }
  return (
    <li className={on ? "entry on" : "entry"}>
      <Link ref={link} href={`/s/${session.id}`} aria-current={on ? "page" : undefined} title={`${session.title ?? "New session"}, ${lastActivity(session)}`}>
        {DOTS[state] && <i className={`dot is-${state}`} role="img" aria-label={DOTS[state]} />}
        <span>{session.title || "New session"}</span>
      </Link>
      <Menu label={<Ellipsis aria-hidden />} name={`Menu of ${session.title ?? "New session"}`}>
        {(close) => (
          <>
            <button type="button" className="menu-item" onClick={() => (close(), edit(true))}>Rename</button>
            <button type="button" className="menu-item" onClick={() => (close(), attempt(exportLog(session)))}>Export</button>
            <button type="button" className="menu-item" onClick={() => (close(), attempt(archive()))}>{session.archived ? "Restore" : "Archive"}</button>
          </>
        )}
      </Menu>
    </li>
  );
}

/** The log of the session, one event a line. */
export async function exportLog(session: Pick<Session, "id" | "title">, internal = false): Promise<void> {
  const lines: string[] = [];
  for (let after: number | null = -1; after !== null; ) {
    const page: { events: unknown[]; after: number | null } = await get(`/api/sessions/${session.id}/events?limit=1000&after=${after}${internal ? "&internal=true" : ""}`);
    lines.push(...page.events.map((event) => stringify(event)));
    after = page.after;
  }
  saveAs(`${session.title || session.id}.jsonl`, lines.join("\n") + "\n", "application/x-ndjson");
}

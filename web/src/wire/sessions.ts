/** The user's sessions: the list beside the conversation. */
import { get, patch, post } from "./http";
import { Observable, useValue } from "./observable";

export interface Session {
  id: string;
  title: string | null;
  agent: string;
  createdAt: string;
  lastActivityAt?: string;
  archived: boolean;
  state?: "idle" | "running" | "waiting";
  thinking: { enabled: boolean; budgetTokens: number };
}

interface Page {
  sessions: Session[];
  cursor: string | null;
  searchedAll?: boolean; // of a search's first page: whether all texts were looked into
}

export interface List extends Page {
  search: string; // that the server searched for
  archived: boolean; // those are listed, instead of the others
  loaded: boolean;
}

export const list = new Observable<List>({ sessions: [], cursor: null, search: "", archived: false, loaded: false });
const opened = new Observable<Session | null>(null); // the page's own, whether it is listed or not

/** A session that is listed, or the open one. */
export function useSession(id: string): Session | undefined {
  const open = useValue(opened);
  return useValue(list).sessions.find((one) => one.id === id) ?? (open?.id === id ? open : undefined);
}

let looks = 0;
let wanted: Pick<List, "search" | "archived"> | null = null; // by a look that has no answer yet

/** What another look has asked for since is not undone by a late answer, nor what somebody waits for by a look of the page's own. */
export async function refresh(search = (wanted ?? list.get()).search, archived = (wanted ?? list.get()).archived): Promise<void> {
  const look = ++looks;
  wanted = { search, archived };
  try {
    const page = await get<Page>(`/api/sessions?limit=50&order=activity${query(search, archived)}`);
    if (look === looks) list.update((now) => ({ ...continued(page, now, search, archived), search, archived, loaded: true }));
  } finally {
    if (look === looks) wanted = null;
  }
}

/** The newest page, and behind it the older ones that were loaded before by the same question. */
function continued(page: Page, now: List, search: string, archived: boolean): Page {
  const last = page.sessions.at(-1);
  if (!page.cursor || !last || now.search !== search || now.archived !== archived) return page;
  const here = new Set(page.sessions.map((one) => one.id));
  const older = now.sessions.filter((one) => !here.has(one.id) && lastActivity(one) <= lastActivity(last));
  return older.length ? { ...page, sessions: [...page.sessions, ...older], cursor: now.cursor } : page;
}

export const lastActivity = (session: Session): string => session.lastActivityAt ?? session.createdAt;

function query(search: string, archived: boolean): string {
  return (search ? `&search=${encodeURIComponent(search)}` : "") + (archived ? "&archived=true" : "");
}

export async function more(): Promise<void> {
  const { cursor, search, archived } = list.get();
  if (!cursor) return;
  const page = await get<Page>(`/api/sessions?limit=50&order=activity&cursor=${encodeURIComponent(cursor)}${query(search, archived)}`);
  list.update((now) => (now.cursor === cursor ? { ...now, sessions: [...now.sessions, ...page.sessions], cursor: page.cursor } : now));
}

export async function create(agent?: string): Promise<Session> {
  const session = await post<Session>("/api/sessions", agent ? { agent } : {});
  replace(session);
  return session;
}

export async function change(id: string, changes: Partial<Session>): Promise<void> {
  replace(await patch<Session>(`/api/sessions/${id}`, changes));
}

export async function setThinking(session: Session, enabled: boolean, budgetTokens: number): Promise<void> {
  await patch(`/api/sessions/${session.id}/thinking`, { enabled, budgetTokens });
  replace({ ...session, thinking: { enabled, budgetTokens } });
}

export async function load(id: string): Promise<Session> {
  const session = await get<Session>(`/api/sessions/${id}`);
  opened.set(session);
  replace(session);
  return session;
}

/** In the list it is in, at the top of the one it belongs to, and out of the other. */
export function replace(session: Session): void {
  opened.update((now) => (now?.id === session.id ? session : now));
  list.update((now) => {
    const known = now.sessions.some((one) => one.id === session.id);
    const sessions = now.sessions.flatMap((one) => (one.id !== session.id ? [one] : session.archived === now.archived ? [session] : []));
    return { ...now, sessions: known || session.archived !== now.archived ? sessions : [session, ...sessions] };
  });
}

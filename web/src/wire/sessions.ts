/** The user's sessions: the list beside the conversation. */
import { get, patch, post } from "./http";
import { Observable } from "./observable";

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
  loaded: boolean;
}

export const list = new Observable<List>({ sessions: [], cursor: null, search: "", loaded: false });

export async function refresh(search = list.get().search): Promise<void> {
  const query = search ? `&search=${encodeURIComponent(search)}` : "";
  const page = await get<Page>(`/api/sessions?limit=50&order=activity${query}`);
  list.set({ ...page, search, loaded: true });
}

export async function more(): Promise<void> {
  const { sessions, cursor, search } = list.get();
  if (!cursor) return;
  const query = search ? `&search=${encodeURIComponent(search)}` : "";
  const page = await get<Page>(`/api/sessions?limit=50&order=activity&cursor=${encodeURIComponent(cursor)}${query}`);
  list.update((now) => ({ ...now, sessions: [...sessions, ...page.sessions], cursor: page.cursor }));
}

export async function create(agent?: string): Promise<Session> {
  const session = await post<Session>("/api/sessions", agent ? { agent } : {});
  list.update((now) => ({ ...now, sessions: [session, ...now.sessions] }));
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
  replace(session);
  return session;
}

export function replace(session: Session): void {
  list.update((now) => {
    const known = now.sessions.some((one) => one.id === session.id);
    const kept = now.sessions.filter((one) => !(one.id === session.id && session.archived));
    const sessions = kept.map((one) => (one.id === session.id ? session : one));
    return { ...now, sessions: known || session.archived ? sessions : [session, ...sessions] };
  });
}

/** The bearer token: in memory and in this tab's storage. Never in an address, never in a log. */
import { Observable } from "./observable";
import { at } from "./place";
import { recall, remember, tab } from "./storage";

export const token = new Observable<string | null>(recall<string | null>("token", null, tab));
/** Whether the server asks who is there. The page stays as it is under the dialog. */
export const signedOut = new Observable(false);

/** Whether the user has gone: then nobody else reads what stands on the page. */
export const left = new Observable(false);

let waiting: (() => void)[] = [];
let owner: string | null = null; // whose page this is
/** Whether this browser was somebody else's before. */
export const stranger = new Observable(false);

/** The server has said whose page this is. */
export function belongsTo(user: string): void {
  owner = user;
  const before = recall<string | null>("owner", null);
  remember("owner", user);
  stranger.set(before !== null && before !== user);
}

/** Whoever was here goes on where they were. For anybody else the page begins anew. */
export async function signIn(value: string): Promise<void> {
  if (owner !== null && (await userOf(value)) !== owner) return beginAnew(value);
  token.set(value);
  remember("token", value, tab);
  signedOut.set(false);
  left.set(false);
  const ready = waiting;
  waiting = [];
  for (const go of ready) go();
}

export function signOut(): void {
  token.set(null);
  remember("token", null, tab);
  left.set(true);
  signedOut.set(true);
}

/** Ask the user to sign in, and wait until that has happened. Nobody is asked who has, since that token was sent. */
export function untilSignedIn(refused: string | null): Promise<void> {
  if (token.get() !== null && token.get() !== refused) return Promise.resolve();
  signedOut.set(true);
  return new Promise((resolve) => waiting.push(resolve));
}

/** Neither what stands on the page nor what waits to be sent is theirs. */
function beginAnew(value: string): void {
  remember("token", value, tab);
  location.assign(location.pathname === at("/embed") ? location.href : at("/"));
}

async function userOf(value: string): Promise<string | undefined> {
  const response = await fetch(at("/api/config"), { headers: { authorization: `Bearer ${value}` } });
  const { user } = (await response.json()) as { user: { id: string } | null };
  return user?.id;
}

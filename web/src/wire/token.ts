/** The bearer token: in memory and in this tab's storage. Never in an address, never in a log. */
import { Observable } from "./observable";
import { recall, remember, tab } from "./storage";

export const token = new Observable<string | null>(recall<string | null>("token", null, tab));
/** Whether the server asks who is there. The page stays as it is under the dialog. */
export const signedOut = new Observable(false);

let waiting: (() => void)[] = [];

export function signIn(value: string): void {
  token.set(value);
  remember("token", value, tab);
  signedOut.set(false);
  const ready = waiting;
  waiting = [];
  for (const go of ready) go();
}

export function signOut(): void {
  token.set(null);
  remember("token", null, tab);
  signedOut.set(true);
}

/** Ask the user to sign in, and wait until that has happened. Nobody is asked who has, since that token was sent. */
export function untilSignedIn(refused: string | null): Promise<void> {
  if (token.get() !== null && token.get() !== refused) return Promise.resolve();
  signedOut.set(true);
  return new Promise((resolve) => waiting.push(resolve));
}

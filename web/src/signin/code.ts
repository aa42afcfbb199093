/** The code flow with PKCE: to the identity provider and back. Nothing secret is in an address. */
import { ask } from "../wire/http";
import { at } from "../wire/place";
import { signIn } from "../wire/token";
import { newId } from "../wire/outbox";
import { recall, remember, tab } from "../wire/storage";

export interface Offer {
  kind: "none" | "token" | "code";
  authorizationEndpoint?: string;
  clientId?: string;
  scope?: string;
}

interface Leaving {
  state: string;
  verifier: string;
  place: string; // where the user was
}

const redirectUri = (): string => location.origin + at("/signin");

export function leave(offer: Offer): Promise<void> {
  const leaving: Leaving = { state: newId(), verifier: newId() + newId(), place: location.pathname + location.search };
  remember("leaving", leaving, tab);
  return challenge(leaving.verifier).then((code) => {
    const url = new URL(offer.authorizationEndpoint!);
    const query = {
      response_type: "code",
      client_id: offer.clientId!,
      redirect_uri: redirectUri(),
      scope: offer.scope!,
      state: leaving.state,
      code_challenge: code,
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    if (url.protocol !== "https:" && url.protocol !== "http:") throw new Error("no address");
    location.assign(url);
  });
}

/** `crypto.subtle` is there on https and on this machine only. */
async function challenge(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return btoa(String.fromCharCode(...new Uint8Array(digest))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Back from the provider: the code goes out of the address at once, then to our server. */
export async function comeBack(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const leaving = recall<Leaving | null>("leaving", null, tab);
  remember("leaving", null, tab);
  const isOurs = leaving !== null && query.get("state") === leaving.state;
  history.replaceState(null, "", isOurs ? leaving.place : at("/"));
  const code = query.get("code");
  if (!isOurs || !code) return;
  const { token } = await ask<{ token: string }>("POST", "/api/signin", {
    body: { code, verifier: leaving.verifier, redirectUri: redirectUri() },
    quiet: true,
  });
  await signIn(token);
}

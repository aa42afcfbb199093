/** Who are you? A dialog over the page, which stays as it is: drafts, files and all. */
import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { get, sentence } from "../wire/http";
import { at } from "../wire/place";
import { useValue } from "../wire/observable";
import { left, signedOut, signIn } from "../wire/token";
import { Dialog } from "../ui/Dialog";
import { leave, type Offer } from "./code";

export function SignInDialog(): ReactNode {
  const open = useValue(signedOut);
  const gone = useValue(left);
  const [offer, setOffer] = useState<Offer>({ kind: "token" });
  const [failed, setFailed] = useState("");
  useEffect(() => {
    if (open) get<Offer>("/api/signin", { quiet: true }).then(setOffer).catch((error: unknown) => setFailed(sentence(error)));
  }, [open]);
  const go = (): void => void leave(offer).catch(() => setFailed("Signing in needs https, or this machine."));
  return (
    <Dialog open={open} name="Sign in" covers={gone} close={null}>
      <h2>Sign in</h2>
      {offer.kind === "code" ? (
        <>
          <p className="muted">Your organisation’s sign-in page opens. What you have written stays here.</p>
          {failed && <p className="bad" role="alert">{failed}</p>}
          <div className="actions">
            <button type="button" className="button primary" onClick={go}>
              Sign in…
            </button>
          </div>
        </>
      ) : (
        <TokenForm failed={failed} fail={setFailed} />
      )}
    </Dialog>
  );
}

function TokenForm({ failed, fail }: { failed: string; fail: (why: string) => void }): ReactNode {
  const [text, setText] = useState("");
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const token = text.trim().replace(/^Bearer\s+/i, "");
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(at("/api/sessions?limit=1"), { headers }).catch(() => null);
    if (!response) return fail("No connection to the server.");
    if (!response.ok) {
      const problem = (await response.json().catch(() => ({}))) as { detail?: string };
      return fail(problem.detail ?? "The token is not valid here.");
    }
    setText("");
    fail("");
    await signIn(token).catch(() => fail("No connection to the server."));
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <p className="muted">
        Paste the token that the operator gave you (<code>turnlog token --user NAME</code>). It stays in this tab.
      </p>
      <input type="password" autoComplete="off" value={text} onChange={(event) => setText(event.target.value)} aria-label="Token" placeholder="Token" aria-invalid={failed !== ""} />
      {failed && <p className="bad small-text" role="alert">{failed}</p>}
      <div className="actions">
        <button type="submit" className="button primary" disabled={!text.trim()}>
          Sign in
        </button>
      </div>
    </form>
  );
}

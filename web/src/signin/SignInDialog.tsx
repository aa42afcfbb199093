/** Who are you? A dialog over the page, which stays as it is: drafts, files and all. */
import { useState, type FormEvent, type ReactNode } from "react";
import { useValue } from "../wire/observable";
import { signedOut, signIn } from "../wire/token";
import { Dialog } from "../ui/Dialog";

export function SignInDialog(): ReactNode {
  const open = useValue(signedOut);
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const token = text.trim().replace(/^Bearer\s+/i, "");
    const response = await fetch("/api/sessions?limit=1", { headers: { authorization: `Bearer ${token}` } }).catch(() => null);
    if (!response) return setFailed("No connection to the server.");
    if (!response.ok) {
      const problem = (await response.json().catch(() => ({}))) as { detail?: string };
      return setFailed(problem.detail ?? "The token is not valid here.");
    }
    setText("");
    setFailed("");
    signIn(token);
  };
  return (
    <Dialog open={open} name="Sign in" close={null}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>Sign in</h2>
        <p className="muted">
          Paste the token that the operator gave you (<code>turnlog token --user NAME</code>). It stays in this tab.
        </p>
        <input type="password" autoComplete="off" value={text} onChange={(event) => setText(event.target.value)} aria-label="Token" placeholder="Token" />
        {failed && <p className="bad" role="alert">{failed}</p>}
        <div className="actions">
          <button type="submit" className="button primary" disabled={!text.trim()}>
            Sign in
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The keys, and a switch for single letters. */
import type { ReactNode } from "react";
import { useValue } from "../wire/observable";
import { Dialog } from "./Dialog";
import { helpShown, KEYS, letters } from "./shortcuts";

export function Help(): ReactNode {
  const open = useValue(helpShown);
  const on = useValue(letters);
  return (
    <Dialog open={open} name="Keys" close={() => helpShown.set(false)}>
      <h2>Keys</h2>
      <dl className="keys">
        {KEYS.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input type="checkbox" checked={on} onChange={(event) => letters.set(event.target.checked)} /> Single letters are keys
      </label>
      <div className="actions">
        <button type="button" className="button" onClick={() => helpShown.set(false)}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

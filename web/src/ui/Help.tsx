/** The keys, a switch for single letters, and what runs here. */
import type { ReactNode } from "react";
import { config, type Config } from "../wire/config";
import { useValue } from "../wire/observable";
import { Dialog } from "./Dialog";
import { helpShown, KEYS, letters } from "./shortcuts";

export function Help(): ReactNode {
  const open = useValue(helpShown);
  const on = useValue(letters);
  const facts = useValue(config);
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
      {facts && <Server facts={facts} />}
      <div className="actions">
        <button type="button" className="button" onClick={() => helpShown.set(false)}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** What answers here, where it is kept, and what numbers it. */
function Server({ facts }: { facts: Config }): ReactNode {
  const rows = { Model: facts.model, Store: facts.store, Numbers: facts.sequencer };
  return (
    <>
      <h2>This server</h2>
      <dl className="keys">
        {Object.entries(rows).map(([name, words]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

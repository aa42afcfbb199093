/** Whether the model thinks before it answers, and how much: for the session, or one message. */
import { useState, type ReactNode } from "react";
import { Brain } from "lucide-react";
import { Menu } from "../ui/Menu";

export interface ThinkingChoice {
  enabled: boolean;
  budget: number;
  once: number | null; // for the next message alone
  set: (enabled: boolean, budget: number) => void;
  setOnce: (budget: number | null) => void;
}

const BUDGETS = [1_000, 4_000, 10_000, 32_000];
const [LEAST, MOST] = [1_000, 100_000];

const short = (budget: number): string => (budget % 1000 ? String(budget) : `${budget / 1000}k`);

export function ThinkingMenu({ choice }: { choice: ThinkingChoice }): ReactNode {
  const [own, setOwn] = useState("");
  const { enabled, budget, once } = choice;
  const state = once !== null ? (once ? `${short(once)}, once` : "off, once") : enabled ? short(budget) : "off";
  const number = Number(own);
  const valid = Number.isInteger(number) && number >= LEAST && number <= MOST;
  return (
    <Menu
      label={
        <>
          <Brain aria-hidden /> Thinking: {state}
        </>
      }
      name={`Thinking: ${state}`}
      className="button ghost"
      up
    >
      {(close) => (
        <div className="menu-form">
          <label className="check">
            <input type="checkbox" checked={enabled} onChange={(event) => choice.set(event.target.checked, budget)} /> Think before answering
          </label>
          <div className="choices" role="group" aria-label="Budget in tokens">
            {BUDGETS.map((each) => (
              <button key={each} type="button" className={enabled && each === budget ? "chip on" : "chip"} aria-pressed={enabled && each === budget} onClick={() => choice.set(true, each)}>
                {short(each)}
              </button>
            ))}
          </div>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (valid) choice.set(true, number);
            }}
          >
            <input type="text" inputMode="numeric" value={own} onChange={(event) => setOwn(event.target.value)} placeholder="Own: 1000–100000" aria-label="Own budget, 1000 to 100000 tokens" aria-invalid={own !== "" && !valid} />
          </form>
          <hr />
          <button type="button" className="menu-item" onClick={() => (choice.setOnce(once === null ? (enabled ? 0 : budget) : null), close())}>
            {once !== null ? "Same as the session again" : enabled ? "Do not think for the next message" : "Think only for the next message"}
          </button>
        </div>
      )}
    </Menu>
  );
}

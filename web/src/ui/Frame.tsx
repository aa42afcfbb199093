/** Around every page: sessions at the left, the page, a drawer at the right on demand. */
import { useEffect, type ReactNode } from "react";
import { useLocation } from "wouter";
import { Menu as Burger } from "lucide-react";
import { config, missing } from "../wire/config";
import { useValue } from "../wire/observable";
import { Drawer } from "./Drawer";
import { Help } from "./Help";
import { listShown } from "./shortcuts";
import { Side } from "./Side";

interface Props {
  title?: string;
  header?: ReactNode;
  children: ReactNode;
  embedded?: boolean; // inside of another page: without the list of sessions
  active?: string; // the open session
}

const closeList = (): void => listShown.set(false);

export function Frame({ title, header, children, embedded = false, active }: Props): ReactNode {
  const sheet = useValue(listShown);
  const [place] = useLocation();
  const simulated = useValue(config)?.simulated ?? false;
  const why = useValue(missing);
  useEffect(closeList, [place]);
  return (
    <div className={embedded ? "app embedded" : "app"}>
      {!embedded && (
        <nav className={sheet ? "side open" : "side"} aria-label="Sessions">
          <Side active={active} close={closeList} />
        </nav>
      )}
      {sheet && <button type="button" className="scrim" aria-label="Close the list" onClick={closeList} />}
      <main>
        <header className="top">
          {!embedded && (
            <button type="button" className="icon-button burger" aria-label="Sessions" aria-expanded={sheet} onClick={() => listShown.set(true)}>
              <Burger aria-hidden />
            </button>
          )}
          {header ?? <h1 className="title">{title}</h1>}
        </header>
        {simulated && (
          <div className="banner" role="note">
            <b>Simulated model</b>
            <span>
              Answers come from rules on this machine, not from Claude.{" "}
              <span className="wide-only">
                Set <code>ANTHROPIC_API_KEY</code> to use Claude.
              </span>
            </span>
          </div>
        )}
        {why && (
          <div className="banner bad" role="alert">
            <span>This page waits for the server. {why} Trying again…</span>
          </div>
        )}
        <div className="page">{children}</div>
      </main>
      <Drawer />
      <Help />
    </div>
  );
}

/** Beside the page, or over it on a phone. Focus goes in, and comes back when it closes. */
import { useEffect, useRef, type ReactNode } from "react";
import { X } from "lucide-react";
import { useValue } from "../wire/observable";
import { drawer } from "./drawer";

export function Drawer(): ReactNode {
  const drawn = useValue(drawer);
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef<Element | null>(null);
  useEffect(() => {
    if (drawn) {
      before.current ??= document.activeElement;
      heading.current?.focus();
    } else {
      (before.current as HTMLElement | null)?.focus?.();
      before.current = null;
    }
  }, [drawn]);
  useEffect(() => () => drawer.set(null), []);
  if (!drawn) return null;
  return (
    <aside className="drawer" aria-label={drawn.title}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {drawn.title}
        </h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={() => drawer.set(null)}>
          <X aria-hidden />
        </button>
      </header>
      <div className="drawer-body">{drawn.body}</div>
    </aside>
  );
}

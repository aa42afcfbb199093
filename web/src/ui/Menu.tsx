/** A button with something that opens at it. Escape and a click elsewhere close it. */
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { keepInside } from "./edges";

interface Props {
  label: ReactNode;
  name: string;
  className?: string;
  up?: boolean; // opens above the button
  children: (close: () => void) => ReactNode;
}

export function Menu({ label, name, className = "icon-button", up = false, children }: Props): ReactNode {
  const [open, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => (open ? keepInside(box.current!, up) : undefined), [open, up]);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (!place.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    if (!open) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      event.nativeEvent.stopImmediatePropagation();
      close();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || (event.target as HTMLElement).tagName === "INPUT") return;
    const items = [...(place.current?.querySelectorAll<HTMLElement>(".menu button, .menu input") ?? [])];
    if (items.length === 0) return; // the keys scroll it
    event.preventDefault();
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + step + items.length) % items.length]?.focus();
  };
  return (
    <div className="menu-place" ref={place} onKeyDown={press}>
      <button ref={button} type="button" className={className} aria-expanded={open} aria-label={name} title={name} onClick={() => setOpen(!open)}>
        {label}
      </button>
      {open && <div ref={box} className={up ? "menu up" : "menu"}>{children(close)}</div>}
    </div>
  );
}

/** The number behind cited words. A card on hover or focus, the source on a click. */
import { useCallback, useId, useRef, useState, type ReactNode } from "react";
import { drawer } from "../ui/drawer";
import { SourceView } from "./SourceView";
import type { Source } from "./sources";

const SOON = 150; // ms

export function CiteMark({ number, source }: { number: number; source?: Source }): ReactNode {
  const [shown, setShown] = useState(false);
  const timer = useRef(0);
  const id = useId();
  const place = useCallback((card: HTMLElement | null) => (card ? keepInView(card) : undefined), []);
  if (!source) return null; // a mark without a source says nothing
  const later = (open: boolean): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setShown(open), SOON);
  };
  const show = (): void => drawer.set({ title: source.title, body: <SourceView source={source} /> });
  return (
    <span className="cite-place" onPointerEnter={() => later(true)} onPointerLeave={() => later(false)}>
      <button
        type="button"
        className={source.doubtful ? "cite doubtful" : "cite"}
        aria-label={`Source ${number}: ${[source.title, source.place, source.doubtful && "not found there"].filter(Boolean).join(", ")}`}
        aria-describedby={shown ? id : undefined}
        onFocus={() => later(true)}
        onBlur={() => later(false)}
        onClick={show}
      >
        {number}
        {source.doubtful && "?"}
      </button>
      {shown && (
        <span className="cite-card" role="tooltip" id={id} ref={place}>
          <b>{source.title}</b>
          {source.place && <small>{source.place}</small>}
          {source.doubtful && <small className="doubtful">These words were not found in the source.</small>}
          {source.quotes[0] && <q>{source.quotes[0]}</q>}
        </span>
      )}
    </span>
  );
}

const MARGIN = 10; // px to the edges of the window

/** The card opens below the mark; at an edge it moves in, and at the bottom it opens above. */
function keepInView(card: HTMLElement): () => void {
  const place = (): void => {
    card.style.translate = "0 0";
    card.classList.remove("above");
    const { left, right, bottom } = card.getBoundingClientRect();
    const side = Math.max(MARGIN - left, Math.min(0, innerWidth - MARGIN - right));
    card.classList.toggle("above", bottom > innerHeight - MARGIN);
    card.style.translate = `${Math.round(side)}px 0`;
  };
  place();
  window.addEventListener("resize", place);
  return () => window.removeEventListener("resize", place);
}

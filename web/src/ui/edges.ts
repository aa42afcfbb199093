/** What opens at a button stays inside of the window: it moves in from the sides, and scrolls where it is too high. */
const MARGIN = 10; // px to the edges of the window
const LEAST = 120; // px of height that it has in any case

export function keepInside(box: HTMLElement, up: boolean): () => void {
  const place = (): void => {
    box.style.translate = "0 0";
    const { left, right, top, bottom } = box.getBoundingClientRect();
    const side = Math.max(MARGIN - left, Math.min(0, innerWidth - MARGIN - right));
    box.style.maxHeight = `${Math.max(LEAST, Math.floor(up ? bottom - MARGIN : innerHeight - MARGIN - top))}px`;
    box.style.translate = `${Math.round(side)}px 0`;
  };
  place();
  window.addEventListener("resize", place);
  return () => window.removeEventListener("resize", place);
}

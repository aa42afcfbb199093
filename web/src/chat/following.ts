/** Following the end of the conversation: a state that only the user changes.
 *
 * Wheel up, touch, the scrollbar, PageUp, Home and selecting pause it; only reaching the end, on the way down, resumes
 * it. A `scroll` event that we caused ourselves decides nothing.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

const NEAR = 24; // px
const UP_KEYS = new Set(["PageUp", "Home", "ArrowUp"]);

export interface Following {
  follows: boolean;
  toEnd: () => void;
  pin: () => void;
}

export function useFollowing(box: RefObject<HTMLElement | null>, marker: unknown): Following {
  const state = useRef(true);
  const top = useRef(0); // where it was scrolled to, by us or by the user
  const [follows, setFollows] = useState(true);
  const set = useCallback((value: boolean) => {
    state.current = value;
    setFollows(value);
  }, []);
  const pin = useCallback(() => {
    const element = box.current;
    if (!element || !state.current) return;
    element.scrollTop = element.scrollHeight;
    top.current = element.scrollTop;
  }, [box]);
  useLayoutEffect(() => {
    pin();
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(pin); // a list that draws only what is in view has measured its new rows by now
    });
    return () => cancelAnimationFrame(frame);
  }, [pin, marker]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const toGo = (): number => element.scrollHeight - element.scrollTop - element.clientHeight;
    const scrolls = (): boolean => element.scrollHeight > element.clientHeight;
    const pause = (): void => void (scrolls() && set(false));
    const wheel = (event: WheelEvent): void => void (event.deltaY < 0 && pause());
    const key = (event: KeyboardEvent): void => void (UP_KEYS.has(event.key) && pause());
    const grab = (event: PointerEvent): void => void (event.target === element && event.offsetX >= element.clientWidth && pause()); // the scrollbar
    const select = (): void => {
      const selection = document.getSelection();
      if (selection && !selection.isCollapsed && element.contains(selection.anchorNode)) pause();
    };
    const scrolled = (): void => {
      const isDown = element.scrollTop > top.current;
      top.current = element.scrollTop;
      if (!state.current && isDown && toGo() <= NEAR && isUsers(element)) set(true);
    };
    const lift = (): void => void (!state.current && toGo() <= 1 && isUsers(element) && set(true)); // it was the end all the time
    element.addEventListener("wheel", wheel, { passive: true });
    element.addEventListener("touchmove", pause, { passive: true });
    element.addEventListener("touchend", lift, { passive: true });
    element.addEventListener("keydown", key);
    element.addEventListener("pointerdown", grab);
    element.addEventListener("scroll", scrolled, { passive: true });
    document.addEventListener("selectionchange", select);
    const resized = new ResizeObserver(pin);
    resized.observe(element);
    return () => {
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("touchmove", pause);
      element.removeEventListener("touchend", lift);
      element.removeEventListener("keydown", key);
      element.removeEventListener("pointerdown", grab);
      element.removeEventListener("scroll", scrolled);
      document.removeEventListener("selectionchange", select);
      resized.disconnect();
    };
  }, [box, pin, set]);
  const toEnd = useCallback(() => {
    set(true);
    pin();
  }, [set, pin]);
  return { follows, toEnd, pin };
}

/** Somebody who selects text at the end does not want it to move. */
function isUsers(element: HTMLElement): boolean {
  const selection = document.getSelection();
  return !selection || selection.isCollapsed || !element.contains(selection.anchorNode);
}

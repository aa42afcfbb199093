/** Where the focus goes when a field is closed by a key: back to what has opened it. */
import { useEffect, useRef, type RefObject } from "react";

export function useWayBack<E extends HTMLElement>(): [RefObject<E | null>, (byKey: boolean) => void] {
  const place = useRef<E>(null);
  const wanted = useRef(false);
  useEffect(() => {
    if (!wanted.current || !place.current) return; // it is not drawn again yet
    wanted.current = false;
    place.current.focus();
  });
  return [place, (byKey) => void (wanted.current = byKey)];
}

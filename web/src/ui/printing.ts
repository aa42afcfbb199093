/** Whether the page is being put on paper, where everything is in view. */
import { useEffect, useState } from "react";
import { flushSync } from "react-dom";

export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = (): void => flushSync(() => setPrinting(true)); // the browser takes what is there when this returns
    const end = (): void => setPrinting(false);
    window.addEventListener("beforeprint", begin);
    window.addEventListener("afterprint", end);
    return () => {
      window.removeEventListener("beforeprint", begin);
      window.removeEventListener("afterprint", end);
    };
  }, []);
  return printing;
}

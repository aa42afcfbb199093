/** How a mark of a citation looks is the answer's business, not the text's. */
import { createContext, useContext, type ReactNode } from "react";

export type Mark = (number: number) => ReactNode;

export const MarkContext = createContext<Mark>(() => null);

export function useMark(): Mark {
  return useContext(MarkContext);
}

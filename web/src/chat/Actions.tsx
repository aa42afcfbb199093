/** What rows can ask the conversation to do. */
import { createContext, useContext } from "react";
import type { Turn } from "../fold/screen";

export interface Actions {
  fill: (text: string) => void; // into the composer, which is not sent
  again: (turn: Turn) => void; // the same question, as a new one
}

export const ActionsContext = createContext<Actions>({ fill: () => {}, again: () => {} });

export function useActions(): Actions {
  return useContext(ActionsContext);
}

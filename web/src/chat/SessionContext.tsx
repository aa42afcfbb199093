/** Which session a component stands in. */
import { createContext, useContext } from "react";

export const SessionContext = createContext("");

export function useSessionId(): string {
  return useContext(SessionContext);
}

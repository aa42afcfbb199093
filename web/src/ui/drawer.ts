/** What the drawer at the right shows: a source, a file, a whole result. */
import type { ReactNode } from "react";
import { Observable } from "../wire/observable";

export interface Drawn {
  title: string;
  body: ReactNode;
}

export const drawer = new Observable<Drawn | null>(null);

/** A long text that was pasted: it may become a file instead. Nothing happens by itself. */
import { useState, type ReactNode } from "react";
import { useValue } from "../wire/observable";
import type { Outbox } from "../wire/outbox";
import { count } from "../ui/format";
import type { Uploads } from "./uploads";

const BIG = 20_000; // characters

export interface Offer {
  pasted: (text: string) => void;
  offer: ReactNode;
}

export function useBigPaste(outbox: Outbox, uploads: Uploads): Offer {
  const [big, setBig] = useState("");
  const { text } = useValue(outbox.draft);
  const pasted = (more: string): void => void (more.length > BIG && setBig(more.replace(/\r\n?/g, "\n")));
  const attach = (): void => {
    uploads.add([new File([big], "pasted.txt", { type: "text/plain" })]);
    outbox.write(text.replace(big, () => ""));
    setBig("");
  };
  const offer = big && text.includes(big) && (
    <div className="notice">
      <span>You pasted {count(big.length)} characters.</span>
      <button type="button" className="button small" onClick={attach}>Attach as text file</button>
      <button type="button" className="button ghost small" onClick={() => setBig("")}>Keep as text</button>
    </div>
  );
  return { pasted, offer };
}

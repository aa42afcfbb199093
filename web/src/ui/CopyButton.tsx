/** Copies, also on plain http, and says whether it worked. */
import { useState, type ReactNode } from "react";
import { Check, Copy, X, type LucideIcon } from "lucide-react";
import { copy } from "./clipboard";

interface Props {
  text: () => string;
  html?: () => string; // the same, for programs that take more than text
  label: string;
  icon?: LucideIcon;
}

export function CopyButton({ text, html, label, icon = Copy }: Props): ReactNode {
  const [done, setDone] = useState<boolean | null>(null);
  const press = async (): Promise<void> => {
    setDone(await copy(text(), html?.()));
    setTimeout(() => setDone(null), 1500);
  };
  const words = done === null ? label : done ? "Copied" : "Could not copy";
  const Icon = done === null ? icon : done ? Check : X;
  return (
    <button type="button" className="icon-button" onClick={() => void press()} title={words} aria-label={words}>
      <Icon aria-hidden />
    </button>
  );
}

/** Copies, also on plain http, and says whether it worked. */
import { useState, type ReactNode } from "react";
import { Check, Copy, X, type LucideIcon } from "lucide-react";

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "off-screen";
    document.body.append(area);
    area.select();
    const worked = document.execCommand("copy");
    area.remove();
    return worked;
  }
}

interface Props {
  text: () => string;
  label: string;
  icon?: LucideIcon;
}

export function CopyButton({ text, label, icon = Copy }: Props): ReactNode {
  const [done, setDone] = useState<boolean | null>(null);
  const press = async (): Promise<void> => {
    setDone(await copy(text()));
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

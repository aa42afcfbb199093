/** System, light, dark: kept in this browser. */
import { useState, type ReactNode } from "react";
import { Monitor, Moon, Sun } from "lucide-react";
import { local } from "../wire/storage";

const NEXT = { system: "light", light: "dark", dark: "system" } as const;
type Theme = keyof typeof NEXT;
const ICONS = { system: Monitor, light: Sun, dark: Moon };

export function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState<Theme>(() => (local()?.getItem("turnlog.theme") as Theme | null) ?? "system");
  const press = (): void => {
    const next = NEXT[theme];
    if (next === "system") local()?.removeItem("turnlog.theme");
    else local()?.setItem("turnlog.theme", next);
    const dark = next === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : next === "dark";
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    setTheme(next);
  };
  const Icon = ICONS[theme];
  return (
    <button type="button" className="icon-button" aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`} onClick={press}>
      <Icon aria-hidden />
    </button>
  );
}

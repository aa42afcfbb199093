/** The page around us, when we are a frame in it. It may give a token, a theme and colours. */
import { at } from "../wire/place";
import { signIn, signedOut } from "../wire/token";

export const isEmbedded = location.pathname === at("/embed");

const NAMES = new Set(["accent", "on-accent", "accent-soft", "bg", "panel", "raised", "bubble", "sunken", "line", "text", "muted"]);
const COLOUR = /^(#[0-9a-f]{3,8}|(rgb|hsl|oklch|oklab)a?\([\d\s.,%/deg-]+\)|[a-z]{3,20})$/i;

const AGAIN = 2_000; // ms until the host is asked again, when there was no connection

interface Told {
  turnlog?: string;
  token?: unknown;
  theme?: unknown;
  colours?: Record<string, unknown>;
}

/** Who may embed us is the server's word (frame-ancestors): whoever is our parent is one of them. */
export function listen(): void {
  if (!isEmbedded || window.parent === window) return;
  window.addEventListener("message", (event: MessageEvent<Told>) => {
    if (event.source !== window.parent || event.data?.turnlog !== "host") return;
    const { token, theme, colours } = event.data;
    if (typeof token === "string" && token) void signIn(token).catch(() => setTimeout(tell, AGAIN, { turnlog: "token" }));
    if (theme === "dark" || theme === "light") document.documentElement.dataset["theme"] = theme;
    for (const [name, value] of Object.entries(colours ?? {})) {
      if (NAMES.has(name) && typeof value === "string" && COLOUR.test(value)) {
        document.documentElement.style.setProperty(`--${name}`, value);
      }
    }
  });
  signedOut.subscribe(() => signedOut.get() && tell({ turnlog: "token" }));
  tell({ turnlog: "ready" });
}

/** Nothing secret: only that we are there, that we need a token, and which session is open. */
export function tell(message: { turnlog: string; id?: string }): void {
  if (isEmbedded && window.parent !== window) window.parent.postMessage(message, "*");
}

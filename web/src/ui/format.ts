/** Numbers and times as people read them. */
import { Digits } from "../wire/json";

const NUMBER = new Intl.NumberFormat("en-US");
const decimals = (digits: number): Intl.NumberFormat => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const [CENTS, PARTS] = [decimals(2), decimals(4)];

export const count = (value: number): string => NUMBER.format(value);

/** With all its digits: a rate of 1.083456 is not 1.083. */
export function number(value: number | Digits): string {
  if (value instanceof Digits) return String(value).replace(/^-?\d+(?=$|\.\d+$)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  return value.toLocaleString("en-US", { maximumFractionDigits: 20 });
}

/** Four decimals below a dollar, two above. Unknown is not zero. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "cost unknown";
  return `$${(Math.abs(usd) < 1 && usd !== 0 ? PARTS : CENTS).format(usd)}`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function clock(iso: string): string {
  return new Date(iso).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** To the millisecond. */
export function precise(iso: string): string {
  const time = new Date(iso);
  return `${time.toLocaleTimeString("en-GB")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

export function exact(iso: string): string {
  return new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

/** Until a moment, in words: "23 h 58 min", "4 min 10 s". */
export function left(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  if (days > 1) return `${days} days`;
  if (hours) return `${hours} h ${minutes % 60} min`;
  return minutes >= 10 ? `${minutes} min` : minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

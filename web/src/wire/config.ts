/** What the server says about itself and about who asks, once per page. */
import { get, sentence } from "./http";
import { Observable } from "./observable";
import { belongsTo, token, untilSignedIn } from "./token";

export interface AgentInfo {
  id: string;
  name: string;
  description?: string;
  tools?: { name: string; title?: string; writes?: boolean | null; schema?: Schema }[];
}

export interface Schema {
  properties?: Record<string, Property>;
  required?: string[];
}

export interface Property {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  format?: string;
}

export interface Config {
  model: string;
  store: string;
  sequencer: string; // what numbers the events of a log
  simulated: boolean;
  agents: AgentInfo[];
  limits: { maxCharacters: number; [name: string]: number };
  internalPrefixes: string[];
  user: Me | null; // null: not signed in
}

export interface Me {
  id: string;
  roles: string[];
}

export const config = new Observable<Config | null>(null);
export const me = new Observable<Me | null>(null);
/** Why the facts are not there, while they are asked for again. */
export const missing = new Observable("");
let tell = (): void => {};
/** What depends on who looks, or on the server's limits, waits for this: nothing is drawn that is wrong later. */
export const known = new Promise<void>((resolve) => (tell = resolve));
const AGAIN = 2_000; // ms until it is asked for again

export async function loadConfig(): Promise<void> {
  const shown = token.get();
  const facts = await get<Config>("/api/config").catch((error: unknown) => {
    missing.set(sentence(error));
    return null;
  });
  if (facts === null) return void setTimeout(() => void loadConfig(), AGAIN);
  missing.set("");
  if (facts.user === null) {
    await untilSignedIn(shown);
    return loadConfig();
  }
  config.set(facts);
  me.set(facts.user);
  belongsTo(facts.user.id);
  tell();
}

export function isAuditor(who: Me | null): boolean {
  return !!who && (who.roles.includes("admin") || who.roles.includes("auditor"));
}

/** A tool's title: the server's, or its name in words. */
export function titleOf(name: string, agents: AgentInfo[] = config.get()?.agents ?? []): string {
  const tool = agents.flatMap((agent) => agent.tools ?? []).find((one) => one.name === name);
  return tool?.title ?? inWords(name);
}

export function schemaOf(name: string): Schema | undefined {
  const agents = config.get()?.agents ?? [];
  return agents.flatMap((agent) => agent.tools ?? []).find((one) => one.name === name)?.schema;
}

/** `find_customer` and `displayName` as people write them. */
export function inWords(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_\-.]+/g, " ")
    .trim()
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function agentIndex(id: string): number {
  return config.get()?.agents.findIndex((agent) => agent.id === id) ?? -1;
}

export function agentName(id: string): string {
  return config.get()?.agents.find((agent) => agent.id === id)?.name ?? id;
}

export * from "./events.ts";
export { Digits, stringify } from "./json.ts";
export { ServerError, Turnlog } from "./client.ts";
export type { Approval, AskOptions, Page, Session, Settings } from "./client.ts";

export * from "./events.ts";
export { ServerError, Turnlog } from "./client.ts";
export type { Approval, AskOptions, Page, Session, Settings } from "./client.ts";

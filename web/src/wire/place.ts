/** Where the server is mounted: "" or "/assistant". The script's own address says it. */
const script = import.meta.url; // …/assets/index-hash.js
export const root = script.includes("/assets/") ? new URL("..", script).pathname.replace(/\/$/, "") : "";

/** A path of the server, as the browser must ask for it. */
export const at = (path: string): string => root + path;

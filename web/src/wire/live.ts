/** The socket: one for the page. It joins sessions, comes back by itself, and says how it stands. */
import { io, type Socket } from "socket.io-client";
import { Decoder, Encoder } from "socket.io-parser";
import { withMarks, withoutMarks } from "./json";
import { Observable } from "./observable";
import { at } from "./place";
import { signedOut, token, untilSignedIn } from "./token";
import type { TurnlogEvent } from "./events";

export type Connection = "connecting" | "live" | "lost" | "reconnecting" | "offline";

/** Long enough for a person to be told. */
export const isLost = (state: Connection): boolean => state === "reconnecting" || state === "offline";

/** Somebody who watches a session: where it stands, and what to do with an event. */
export interface Watcher {
  sessionId: string;
  cursor(): string | null;
  receive(event: TurnlogEvent): void;
}

const BRIEF = 2_000; // ms without a connection that nobody is told about: most drops heal
const LONG = 15_000; // ms after which it is called offline
const ACK = 2_000; // ms for an answer after the page was hidden

export const connection = new Observable<Connection>("connecting");
const watchers = new Map<string, Watcher>();
let socket: Socket | null = null;
let shown: string | null = null; // the token that it came with
let timers: number[] = [];

export function watch(watcher: Watcher): () => void {
  watchers.set(watcher.sessionId, watcher);
  const open = connect();
  if (open.connected) join(watcher);
  return () => {
    if (watchers.get(watcher.sessionId) !== watcher) return;
    watchers.delete(watcher.sessionId);
    if (open.connected) open.emit("session:leave", { sessionId: watcher.sessionId });
  };
}

export function connect(): Socket {
  if (socket) return socket;
  socket = io({
    path: at("/socket.io"),
    parser: { Encoder, Decoder: ExactDecoder },
    transports: ["websocket", "polling"],
    auth: (give) => give({ token: (shown = token.get()) ?? "" }),
    reconnectionDelay: 300,
    reconnectionDelayMax: 4_000,
    timeout: 5_000, // of one try: a try that hangs is given up
  });
  socket.on("connect", () => {
    settle("live");
    for (const watcher of watchers.values()) join(watcher);
  });
  socket.on("agent:event", (event: TurnlogEvent) => watchers.get(event.sessionId)?.receive(event));
  socket.on("disconnect", (reason) => {
    drop();
    if (reason === "io server disconnect") socket!.connect(); // its token has ended, or it stops
  });
  socket.on("connect_error", (error) => {
    const refused = (error as { data?: { code?: string } }).data?.code;
    if (refused === "unauthorized") void untilSignedIn(shown).then(() => socket!.connect());
    else drop();
  });
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && probe());
  window.addEventListener("online", probe);
  window.addEventListener("offline", () => settle("offline"));
  return socket;
}

export function tryNow(): void {
  if (!socket || socket.connected) probe();
  else socket.disconnect().connect();
}

/** A half-open socket looks alive. Ask for an answer; without one, begin anew. */
function probe(): void {
  if (!socket?.connected) return void socket?.disconnect().connect();
  socket.timeout(ACK).emit("session:leave", { sessionId: "-" }, (late: Error | null) => {
    if (late && socket) socket.disconnect().connect();
    else if (connection.get() !== "live") settle("live"); // the network was away, the socket was not
  });
}

/** Numbers of events keep their digits. */
class ExactDecoder extends Decoder {
  constructor() {
    super(withoutMarks);
  }

  override add(packet: unknown): void {
    super.add(typeof packet === "string" ? withMarks(packet) : packet);
  }
}

function join(watcher: Watcher): void {
  const after = watcher.cursor();
  socket!.emit("session:join", { sessionId: watcher.sessionId, ...(after && { after }) });
}

function settle(state: Connection): void {
  timers.forEach(clearTimeout);
  timers = [];
  connection.set(state);
}

function drop(): void {
  if (timers.length || connection.get() === "offline" || signedOut.get()) return;
  connection.set(connection.get() === "connecting" ? "connecting" : "lost");
  timers = [
    window.setTimeout(() => connection.set("reconnecting"), BRIEF),
    window.setTimeout(() => connection.set("offline"), LONG),
  ];
}

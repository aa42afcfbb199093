// The npm client as an application uses it: joins, asks, loses its connection twice, stops.
// Arguments: url, transport, session, folder with node_modules. Writes one JSON line a report.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [url, transport, sessionId, folder] = process.argv.slice(2);
const { io } = createRequire(`${folder}/`)("socket.io-client");
const socket = io(url, { transports: [transport], reconnectionDelay: 10, timeout: 60000 });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const report = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));
const ask = (event, payload) => socket.timeout(60000).emitWithAck(event, payload);

const events = [];
let starts = 0;
let cursor;
let waiting = [];

socket.on("connect_error", (error) => report("connect_error", { message: error.message }));
socket.on("agent:event", (event) => {
  cursor = event.cursor;
  if (event.type === "session_start") starts += 1;
  else events.push(event);
  waiting = waiting.filter(({ is, done }) => !(is(event) && (done(), true)));
});
socket.on("connect", async () => {
  const joined = await ask("session:join", { sessionId, after: cursor });
  if (!joined.ok) report("not_joined", joined);
});

const next = (type) => new Promise((done) => waiting.push({ is: (e) => e.type === type, done }));

// A question; the connection breaks in the middle of the answer, and comes back by itself.
let started = next("session_start");
await started;
let call = next("tool_use");
const asked = await ask("chat:message", { sessionId, message: "Hi", requestId: "one" });
await call;
started = next("session_start");
socket.io.engine.close();
await started;

// Away, while the answer goes on and ends; then back.
socket.disconnect();
report("away");
await lines.next();
const complete = next("complete");
socket.connect();
await complete;

// Another question, stopped in the middle.
call = next("tool_use");
const again = await ask("chat:message", { sessionId, message: "And now?" });
await call;
const over = next("complete");
const stopped = await ask("chat:stop", { sessionId });
await over;
report("done", { events, starts, acks: [asked, again, stopped] });
socket.disconnect();
process.exit(0);

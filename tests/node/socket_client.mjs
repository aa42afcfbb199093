// The npm client as an application uses it. Arguments: folder with node_modules, mode, url,
// transports (with commas), session. Writes one JSON line a report.
//   use    joins, asks, loses its connection twice, stops
//   watch  joins, and connects anew after the third and every 30 events until the answer is complete
//   stay   joins, tells of the first tool, and reads on until the answer is complete
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, mode, url, transports, sessionId] = process.argv.slice(2);
const { io } = createRequire(`${folder}/`)("socket.io-client");
const last = transports.split(",").at(-1);
const socket = io(url, { transports: transports.split(","), reconnectionDelay: 10, timeout: 60000 });
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
  const lost = () => ({ ok: true }); // it broke before the answer; the next connection joins
  const joined = await ask("session:join", { sessionId, after: cursor }).catch(lost);
  if (!joined.ok) report("not_joined", joined);
});

const now = () => socket.io.engine.transport.name;
const next = (type) => new Promise((done) => waiting.push({ is: (e) => e.type === type, done }));

// On the last of the transports: an upgrade takes a moment.
const settled = async () => {
  const { engine } = socket.io;
  if (engine.transport.name !== last) await new Promise((done) => engine.once("upgrade", done));
};

async function use() {
  // A question; the connection breaks in the middle of the answer, and comes back by itself.
  await next("session_start");
  let call = next("tool_use");
  const asked = await ask("chat:message", { sessionId, message: "Hi", requestId: "one" });
  await call;
  const started = next("session_start");
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
  await settled();
  return [asked, again, stopped];
}

async function watch() {
  const complete = next("complete");
  let seen = 0;
  socket.on("agent:event", (event) => {
    seen += 1;
    if (seen % 30 === 3 && event.type !== "complete") socket.io.engine.close();
  });
  await next("session_start");
  report("joined");
  await complete;
  await settled();
}

async function stay() {
  const complete = next("complete");
  const call = next("tool_use");
  await next("session_start");
  report("joined");
  await call;
  report("reads", { transport: now() });
  await complete;
  await settled();
}

const acks = await { use, watch, stay }[mode]();
report("done", { events, starts, acks, transport: now() });
socket.disconnect();
process.stdout.write("", () => process.exit(0)); // a pipe holds 64 kB: the rest must have gone

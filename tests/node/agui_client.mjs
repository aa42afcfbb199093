// The HttpAgent of npm's @ag-ui/client. Commands on stdin, one JSON answer for each.
import { createRequire } from "node:module";
import readline from "node:readline";
const require = createRequire(process.argv[2] + "/package.json");
const { HttpAgent } = await import(require.resolve("@ag-ui/client"));
const [, , , url, threadId, token] = process.argv;
const headers = token ? { authorization: `Bearer ${token}` } : {};
const make = () => new HttpAgent({ url: `${url}/agui`, threadId, headers });
let agent = make();
let events = [];
let outcome = null;
const subscriber = {
  onEvent: ({ event }) => { events.push(event); },
  onRunFinishedEvent: ({ event }) => { outcome = event.outcome ?? null; },
};
let id = 0;
const commands = {
  ask: async (text, options = {}) => {
    agent.addMessage({ id: `user-${++id}`, role: "user", content: text });
    await agent.runAgent(options, subscriber);
  },
  run: async (options = {}) => agent.runAgent(options, subscriber),
  tool: async (toolCallId, content) => {
    agent.addMessage({ id: `tool-${++id}`, role: "tool", toolCallId, content });
    await agent.runAgent({}, subscriber);
  },
  fresh: async (options = {}) => { agent = make(); await agent.runAgent(options, subscriber); },
};
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [name, ...args] = JSON.parse(line);
  events = [];
  outcome = null;
  let problem = null;
  try { await commands[name](...args); } catch (error) { problem = String(error); }
  console.log(JSON.stringify({ messages: agent.messages, state: agent.state, events, outcome, problem }));
}

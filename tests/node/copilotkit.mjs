// CopilotKit as an application has it: its runtime in a server of its own, with /agui behind it,
// and its client, with a tool of the page. Commands on stdin, one JSON answer for each.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import readline from "node:readline";
const require = createRequire(process.argv[2] + "/package.json");
const load = async (name) => import(require.resolve(name));
const { HttpAgent } = await load("@ag-ui/client");
const { CopilotRuntime } = await load("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await load("@copilotkit/runtime/v2/node");
const { CopilotKitCore, ProxiedCopilotRuntimeAgent } = await load("@copilotkit/core");
const { z } = await load("zod");
const [, , , url, threadId] = process.argv;

const agents = { default: new HttpAgent({ url: `${url}/agui` }) };
const basePath = "/api/copilotkit";
const server = createServer(createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }), basePath }));
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const runtimeUrl = `http://127.0.0.1:${server.address().port}${basePath}`;

const core = new CopilotKitCore({ runtimeUrl });
core.addTool({
  name: "ask_color",
  description: "Asks the user.",
  parameters: z.object({ of: z.string() }),
  handler: async ({ of }) => ({ color: `${of} are red` }),
});
let outcome = null;
const make = () => {
  const made = new ProxiedCopilotRuntimeAgent({ runtimeUrl, agentId: "default", transport: "rest" });
  made.threadId = threadId;
  made.subscribe({ onRunFinishedEvent: ({ event }) => { outcome = event.outcome ?? null; } });
  return made;
};
let agent = make();
const commands = {
  ask: async (text) => {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    await core.runAgent({ agent });
  },
  resume: (entries) => core.runAgent({ agent, resume: entries }),
  again: async () => { agent = make(); await core.connectAgent({ agent }); },
};
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [name, ...args] = JSON.parse(line);
  outcome = null;
  let problem = null;
  try { await commands[name](...args); } catch (error) { problem = String(error); }
  console.log(JSON.stringify({ messages: agent.messages, state: agent.state, outcome, problem }));
}
process.exit(0);

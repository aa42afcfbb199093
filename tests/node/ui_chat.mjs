// useChat's own Chat over the npm `ai` transport. Commands on stdin, one JSON answer for each.
import { createRequire } from "node:module";
import readline from "node:readline";
const require = createRequire(process.argv[2] + "/package.json");
const load = async (name) => import(require.resolve(name));
const { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } = await load("ai");
const { Chat, useChat } = await load("@ai-sdk/react");
const { createElement } = await load("react");
const { renderToString } = await load("react-dom/server");
const [, , , url, session, token] = process.argv;
const headers = token ? { authorization: `Bearer ${token}` } : {};
const api = `${url}/api/sessions/${session}`;
const transport = new DefaultChatTransport({
  api: `${api}/ui-stream`,
  headers,
  prepareReconnectToStreamRequest: () => ({
    api: `${api}/ui-stream?after=${encodeURIComponent(chat.lastMessage?.id ?? "")}`,
  }),
});
let problem = null;
async function fresh() {
  const loaded = await (await fetch(`${api}/ui-messages`, { headers })).json();
  return new Chat({
    id: session,
    messages: loaded.messages,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onError: (error) => { problem = String(error); },
  });
}
let chat = await fresh();
const settled = async () => {
  while (chat.status === "submitted" || chat.status === "streaming")
    await new Promise((done) => setTimeout(done, 5));
};
const commands = {
  ask: (text) => chat.sendMessage({ text }),
  show: (text, files) => chat.sendMessage({ text, files }),
  reload: async () => { chat = await fresh(); },
  resume: () => chat.resumeStream(),
  lose: async (text) => {  // ask, and lose the connection in the middle of the answer
    const asked = chat.sendMessage({ text });
    while (!chat.lastMessage?.parts.some((part) => part.type === "dynamic-tool"))
      await new Promise((done) => setTimeout(done, 5));
    await chat.stop();
    await asked;
  },
  comeBack: async () => {
    if (chat.lastMessage?.role === "assistant") chat.messages = chat.messages.slice(0, -1);
    await chat.resumeStream();
  },
  decide: async (approved) => {
    const part = chat.lastMessage.parts.find((one) => one.state === "approval-requested");
    await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason: "because" });
    await new Promise((done) => setTimeout(done, 20));
    await settled();
  },
};
const Page = () => {
  const { messages } = useChat({ chat });
  return createElement("p", null, messages.flatMap((m) => m.parts.map((p) => p.text ?? "")).join("|"));
};
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [name, ...args] = JSON.parse(line);
  await commands[name](...args);
  const html = renderToString(createElement(Page));
  console.log(JSON.stringify({ messages: chat.messages, status: chat.status, problem, html }));
}

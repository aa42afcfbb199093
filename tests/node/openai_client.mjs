// The official OpenAI client for Node. Arguments: packages, url. One JSON answer.
import { createRequire } from "node:module";
const require = createRequire(process.argv[2] + "/package.json");
const { default: OpenAI } = await import(require.resolve("openai"));
const client = new OpenAI({ baseURL: `${process.argv[3]}/v1`, apiKey: "none", maxRetries: 0 });
const models = (await client.models.list()).data.map((model) => model.id);
const types = [];
const stream = await client.responses.stream({ model: "turnlog", input: "Go" });
for await (const event of stream) types.push(event.type);
const first = await stream.finalResponse();
const second = await client.responses.create({
  model: "turnlog", input: "More", previous_response_id: first.id,
});
const chunks = [];
for await (const chunk of await client.chat.completions.create({
  model: "turnlog", messages: [{ role: "user", content: "Hi" }], stream: true,
})) chunks.push(chunk.choices[0]?.delta?.content ?? "");
const content = [
  { type: "text", text: "Hi" },
  { type: "image_url", image_url: { url: process.argv[4] } },
];
const { data: chat, response } = await client.chat.completions.create({
  model: "turnlog", messages: [{ role: "user", content }], temperature: 0.7, max_tokens: 40,
}).withResponse();
console.log(JSON.stringify({
  models, types, first: first.output_text, second: second.output_text, items: first.output,
  leftOut: response.headers.get("turnlog-left-out"), chunks: chunks.join(""), chat: chat.choices[0].message.content,
}));

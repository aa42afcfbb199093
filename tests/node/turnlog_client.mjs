// Asks a question with our TypeScript client, and prints what came as one line of JSON.
// `decide`: what to do about an approval, or the path of a file that the question comes with.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
const [source, url, session, message, decide] = process.argv.slice(2);
const { stringify, Turnlog } = await import(source);
const client = new Turnlog({ url });
const events = [];
const options = {};
if (decide?.startsWith("/")) {
  const kept = await client.upload(session, new Blob([await readFile(decide)]), basename(decide));
  options.fileIds = [kept.fileId];
}
for await (const event of client.ask(session, message, options)) {
  events.push(event);
  if (decide && event.type === "approval_requested") {
    const [approval] = await client.approvals();
    if (decide === "approve") await client.approve(approval.id, { amount: 2 });
    else if (decide === "same") await client.approve(approval.id, { ...approval.args, to: "Eve" });
    else await client.reject(approval.id, "too much");
  }
}
const page = await client.messages(session);
console.log(stringify({ events, kept: page.events }));

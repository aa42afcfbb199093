/** What a provider sent for one answer: its events, and the answer that they make. Pure. */
import { parse } from "../../wire/json";

export interface RawEvent {
  type: string;
  [name: string]: unknown;
}

type Fields = Record<string, unknown>;

/** A content block, with its pieces joined. */
export interface RawBlock {
  index: number;
  type: string;
  text: string; // of a text or a thought
  id: string; // of a tool call
  name: string;
  input: unknown;
  citations: unknown[];
}

export interface RawMessage {
  model: unknown;
  stopReason: unknown;
  usage: Fields;
  blocks: RawBlock[];
}

/** The events of a body of server-sent events. A line that was cut is left out. */
export function eventsOf(body: string): RawEvent[] {
  return body.split(/\r?\n\r?\n/).flatMap((frame): RawEvent[] => {
    const data = frame.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
    try {
      const event = parse<unknown>(data.join("\n"));
      return isEvent(event) ? [event] : [];
    } catch {
      return [];
    }
  });
}

const isEvent = (value: unknown): value is RawEvent => typeof value === "object" && value !== null && "type" in value;

/** The newest answer in these events: a second message_start makes the first one void. */
export function messageOf(events: RawEvent[]): RawMessage {
  const begun = events.findLastIndex((event) => event.type === "message_start");
  const start = (events[begun]?.["message"] ?? {}) as Fields;
  const message: RawMessage = { model: start["model"], stopReason: null, usage: { ...(start["usage"] as Fields) }, blocks: [] };
  const pieces = new Map<number, string>(); // of arguments, which are JSON in pieces
  for (const event of events.slice(begun + 1)) {
    if (event.type === "content_block_start") message.blocks.push(blockOf(event));
    if (event.type === "content_block_delta") add(event, message.blocks, pieces);
    if (event.type === "message_delta") {
      message.stopReason = (event["delta"] as Fields)["stop_reason"];
      Object.assign(message.usage, event["usage"]);
    }
  }
  for (const [index, json] of pieces) {
    const block = message.blocks.find((one) => one.index === index);
    if (block && json) block.input = parsed(json);
  }
  return message;
}

function blockOf(event: RawEvent): RawBlock {
  const begun = event["content_block"] as Fields;
  return {
    index: Number(event["index"]),
    type: String(begun["type"]),
    text: String(begun["text"] ?? begun["thinking"] ?? ""),
    id: String(begun["id"] ?? ""),
    name: String(begun["name"] ?? ""),
    input: begun["input"],
    citations: [...((begun["citations"] as unknown[] | null) ?? [])],
  };
}

function add(event: RawEvent, blocks: RawBlock[], pieces: Map<number, string>): void {
  const block = blocks.find((one) => one.index === event["index"]);
  const delta = event["delta"] as Fields;
  if (!block) return;
  block.text += String(delta["text"] ?? delta["thinking"] ?? "");
  if ("citation" in delta) block.citations.push(delta["citation"]);
  if ("partial_json" in delta) pieces.set(block.index, (pieces.get(block.index) ?? "") + String(delta["partial_json"]));
}

function parsed(json: string): unknown {
  try {
    return parse(json);
  } catch {
    return json;
  }
}

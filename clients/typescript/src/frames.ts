// Server-sent events, read from bytes.
import type { TurnlogEvent } from "./events.ts";
import { parse } from "./json.ts";

/** The events of one connection until it ends or breaks. */
export async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<TurnlogEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as
    ReadableStreamDefaultReader<string>;
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      for (const frame of parts) {
        const data = frame.split("\n").find((line) => line.startsWith("data: "));
        if (data) yield parse<TurnlogEvent>(data.slice(6));
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

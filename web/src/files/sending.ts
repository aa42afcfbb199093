/** One file to the server: whether it may go, in its turn, and how far it is. */
import { config } from "../wire/config";
import { authorization, NO_CONNECTION, Problem, problemOf } from "../wire/http";
import { token, untilSignedIn } from "../wire/token";
import { at } from "../wire/place";
import type { Attached } from "../wire/outbox";
import { size } from "../ui/format";

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** Why it cannot be taken; null where it can. The server looks at the content itself. */
export async function refusal(file: File): Promise<string | null> {
  const kind = KINDS[pathOf(file)]!;
  const most = config.get()?.limits[kind.limit] ?? Infinity;
  if (file.size > most) return `${size(file.size)}; ${kind.words} may have ${size(most)}`;
  const isReadable = file.size > 0 && (await file.slice(0, 1).arrayBuffer().then(() => true, () => false));
  return isReadable ? null : "Empty, or not a file. Of a folder, attach the files.";
}

// Where a file goes, by the type that the browser gives it.
const KINDS: Record<string, { limit: string; words: string }> = {
  "": { limit: "imageBytes", words: "images" },
  "/pdf": { limit: "pdfBytes", words: "PDFs" },
  "/document": { limit: "documentBytes", words: "documents" },
};

function pathOf(file: File): string {
  if (IMAGES.test(file.type)) return "";
  return file.type === "application/pdf" ? "/pdf" : "/document";
}

const AT_ONCE = 3; // the server takes four of a user: one is left for another window
const line: (() => void)[] = [];
let going = 0;

/** A few at a time; the others wait for their turn. */
export async function inLine<T>(act: () => Promise<T>): Promise<T> {
  if (going === AT_ONCE) await new Promise<void>((go) => line.push(go));
  else going += 1;
  try {
    return await act();
  } finally {
    const next = line.shift();
    if (next) next();
    else going -= 1;
  }
}

/** `removed` ends it, also before it begins. */
export function send(sessionId: string, file: File, tell: (progress: number) => void, removed: AbortSignal): Promise<Attached> {
  return signedIn(() => post(sessionId, file, tell, removed));
}

/** Again, when the user has signed in again. */
function signedIn<T>(act: () => Promise<T>): Promise<T> {
  const shown = token.get();
  return act().catch(async (error: unknown) => {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    await untilSignedIn(shown);
    return act();
  });
}

/** With `XMLHttpRequest`: `fetch` does not tell how far it is. */
function post(sessionId: string, file: File, tell: (progress: number) => void, removed: AbortSignal): Promise<Attached> {
  return new Promise((resolve, reject) => {
    removed.throwIfAborted();
    const request = new XMLHttpRequest();
    request.open("POST", at(`/api/sessions/${sessionId}/files${pathOf(file)}`));
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => tell(event.total ? event.loaded / event.total : 0);
    request.onerror = () => reject(NO_CONNECTION);
    removed.addEventListener("abort", () => (request.abort(), reject(removed.reason)));
    request.onload = () => {
      if (request.status >= 300) {
        const response = new Response(request.responseText, { status: request.status });
        void problemOf(response).then(reject);
        return;
      }
      const answer = JSON.parse(request.responseText) as { fileId: string; mediaType?: string; size: number; pages?: number };
      resolve({ id: answer.fileId, name: file.name, mediaType: answer.mediaType ?? file.type, size: answer.size, pages: answer.pages });
    };
    const form = new FormData();
    form.append("file", file, file.name);
    tell(0);
    request.send(form);
  });
}

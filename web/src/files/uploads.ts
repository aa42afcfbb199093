/** Files on their way to the server. What is ready belongs to the draft; the rest is here. */
import { useEffect, useMemo } from "react";
import { config, known } from "../wire/config";
import { authorization, NO_CONNECTION, Problem, problemOf, sentence } from "../wire/http";
import { token, untilSignedIn } from "../wire/token";
import { Observable, useValue } from "../wire/observable";
import { at } from "../wire/place";
import { newId, type Attached, type Outbox } from "../wire/outbox";
import { create, type Session } from "../wire/sessions";
import { size } from "../ui/format";

export interface Upload {
  key: string;
  name: string;
  size: number;
  type: string;
  state: "uploading" | "reading" | "failed";
  progress: number; // of 1
  why: string;
  file: File;
}

export interface Uploads {
  list: Upload[];
  add: (files: File[]) => void;
  retry: (upload: Upload) => void;
  remove: (upload: Upload) => void;
  whenReady: (go: () => void) => void;
}

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** Why it cannot be taken; null where it can. The server looks at the content itself. */
export function refusal(file: File): string | null {
  const kind = KINDS[pathOf(file)]!;
  const most = config.get()?.limits[kind.limit] ?? Infinity;
  return file.size > most ? `${size(file.size)}; ${kind.words} may have ${size(most)}` : null;
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

const states = new Map<Outbox, Observable<Upload[]>>();
const later = new Map<Outbox, () => void>();

function stateOf(outbox: Outbox): Observable<Upload[]> {
  const state = states.get(outbox) ?? new Observable<Upload[]>([]);
  states.set(outbox, state);
  return state;
}

// The session that files wait in until it begins with a message: one, however many files come at once.
let room: Promise<Session> | null = null;

function enterRoom(): Promise<Session> {
  room ??= create().catch((error: unknown) => {
    room = null;
    throw error;
  });
  return room;
}

/** The session for the message that begins it, if files wait in one. */
export async function leaveRoom(): Promise<Session | null> {
  const left = room;
  room = null;
  return left;
}

export function useUploads(outbox: Outbox): Uploads {
  const state = stateOf(outbox);
  const list = useValue(state);
  useEffect(() => {
    const go = later.get(outbox);
    if (!go || list.some((one) => one.state !== "failed")) return;
    later.delete(outbox);
    if (list.length === 0) go(); // without a file that failed, the user decides
  }, [list, outbox]);
  return useMemo(
    () => ({
      list,
      add: (files) => files.forEach((file) => void begin(outbox, state, file)),
      retry: (upload) => {
        drop(state, upload);
        void begin(outbox, state, upload.file);
      },
      remove: (upload) => drop(state, upload),
      whenReady: (go) => void later.set(outbox, go),
    }),
    [list, outbox, state],
  );
}

function drop(state: Observable<Upload[]>, upload: Upload): void {
  state.update((list) => list.filter((one) => one.key !== upload.key));
}

/** Add a file that no user has chosen: one that the page made. */
export const attach = (outbox: Outbox, file: File): Promise<void> => begin(outbox, stateOf(outbox), file);

async function begin(outbox: Outbox, state: Observable<Upload[]>, file: File): Promise<void> {
  const upload: Upload = { key: newId(), name: file.name, size: file.size, type: file.type, state: "uploading", progress: 0, why: "", file };
  state.update((list) => [...list, upload]);
  const change = (changes: Partial<Upload>): void =>
    state.update((list) => list.map((one) => (one.key === upload.key ? { ...one, ...changes } : one)));
  await known; // how large it may be
  const why = refusal(file);
  if (why) return change({ state: "failed", why });
  try {
    const sessionId = outbox.sessionId ?? (await enterRoom()).id;
    const attached = await signedIn(() => send(sessionId, file, (progress) => change({ progress, state: progress < 1 ? "uploading" : "reading" })));
    outbox.draft.update((draft) => ({ ...draft, files: [...draft.files, attached] }));
    drop(state, upload);
  } catch (error) {
    change({ state: "failed", why: sentence(error) });
  }
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
function send(sessionId: string, file: File, tell: (progress: number) => void): Promise<Attached> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", at(`/api/sessions/${sessionId}/files${pathOf(file)}`));
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => tell(event.total ? event.loaded / event.total : 0);
    request.onerror = () => reject(NO_CONNECTION);
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
    request.send(form);
  });
}

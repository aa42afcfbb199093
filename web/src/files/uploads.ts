/** Files on their way to the server. What is ready belongs to the draft; the rest is here. */
import { useEffect, useMemo } from "react";
import { known } from "../wire/config";
import { Problem, sentence } from "../wire/http";
import { Observable, useValue } from "../wire/observable";
import { newId, type Outbox } from "../wire/outbox";
import { create, type Session } from "../wire/sessions";
import { inLine, refusal, send } from "./sending";

export interface Upload {
  key: string;
  name: string;
  size: number;
  type: string;
  state: "waiting" | "uploading" | "reading" | "failed";
  progress: number; // of 1
  why: string;
  again: boolean; // it failed, and may not the next time
  file: File;
  removed: AbortController; // by the user: it is not sent on, and not attached
}

export interface Uploads {
  list: Upload[];
  add: (files: File[]) => void;
  retry: (upload: Upload) => void;
  remove: (upload: Upload) => void;
  whenReady: (go: () => void) => void;
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
      remove: (upload) => {
        upload.removed.abort();
        drop(state, upload);
      },
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
  const removed = new AbortController();
  const upload: Upload = { key: newId(), name: file.name, size: file.size, type: file.type, state: "waiting", progress: 0, why: "", again: false, file, removed };
  state.update((list) => [...list, upload]);
  const change = (changes: Partial<Upload>): void =>
    state.update((list) => list.map((one) => (one.key === upload.key ? { ...one, ...changes } : one)));
  await known; // how large it may be
  const why = await refusal(file);
  if (why) return change({ state: "failed", why });
  try {
    const sessionId = outbox.sessionId ?? (await enterRoom()).id;
    const tell = (progress: number): void => change({ progress, state: progress < 1 ? "uploading" : "reading" });
    const attached = await inLine(() => send(sessionId, file, tell, removed.signal));
    outbox.draft.update((draft) => ({ ...draft, files: [...draft.files.filter((one) => one.id !== attached.id), attached] })); // the same content is one file
    drop(state, upload);
  } catch (error) {
    change({ state: "failed", why: sentence(error), again: mayPass(error) }); // of one that was removed nothing is listed
  }
}

/** The network, the server or its limits stood in the way: not what the file is. */
function mayPass(error: unknown): boolean {
  return !(error instanceof Problem) || error.status === 0 || error.status === 429 || error.status >= 500;
}

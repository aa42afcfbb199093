// The client: a server, and who asks it.
import { Asking, MOST_FAILURES, pause, type Request } from "./asking.ts";
import type { TurnlogEvent } from "./events.ts";
import { frames } from "./frames.ts";
import { parse, stringify } from "./json.ts";

export interface Settings {
  url: string;
  token?: string | (() => string | Promise<string>);
  fetch?: typeof fetch;
}

export interface Session {
  id: string;
  title: string;
  agent: string;
  engine: string;
  createdAt: string;
  [more: string]: unknown;
}

export interface Page {
  events: TurnlogEvent[];
  before: number | null;
  cursor: string;
}

export interface Approval {
  id: string;
  sessionId: string;
  toolUseId: string;
  toolName: string;
  args: Record<string, unknown>;
  description: string;
  status: string;
  expiresAt: string;
  [more: string]: unknown;
}

export interface AskOptions {
  fileIds?: string[];
  enableThinking?: boolean;
  thinkingBudget?: number;
  requestId?: string;
  onBusy?: "reject" | "enqueue";
}

/** The server refused, and says why. `code` is for programs. */
export class ServerError extends Error {
  status: number;
  code: string;

  constructor(status: number, detail: string, code: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** fetch throws a TypeError for a connection that breaks; a refusal is final. */
function isLost(error: unknown): boolean {
  return !(error instanceof ServerError) && !(error instanceof SyntaxError);
}

export class Turnlog {
  #settings: Settings;
  #fetch: typeof fetch;

  constructor(settings: Settings) {
    this.#settings = { ...settings, url: settings.url.replace(/\/+$/, "") };
    this.#fetch = settings.fetch ?? globalThis.fetch.bind(globalThis);
  }

  createSession(wishes: { title?: string; agent?: string; engine?: string } = {}): Promise<Session> {
    return this.#json("POST", "/api/sessions", wishes);
  }

  sessions(page: { limit?: number; cursor?: string } = {}): Promise<{
    sessions: Session[];
    cursor: string | null;
  }> {
    return this.#json("GET", `/api/sessions${query(page)}`);
  }

  /** The reload: kept events, and the `cursor` to `follow` from. */
  messages(sessionId: string, page: { limit?: number; before?: number } = {}): Promise<Page> {
    return this.#json("GET", `${session(sessionId)}/messages${query(page)}`);
  }

  /**
   * Ask, and see the answer grow until `complete` or `error`. It goes on over connections that
   * break, and waits as long as a person is asked something. Leave the loop to stop watching.
   */
  async *ask(
    sessionId: string,
    message: string,
    options: AskOptions = {},
  ): AsyncGenerator<TurnlogEvent> {
    const asking = new Asking(sessionId, { message, ...options } as { requestId?: string });
    while (!asking.over) {
      const request = asking.request();
      await sleep(request.wait);
      let lost: unknown;
      try {
        for await (const event of this.#stream(request)) {
          if (asking.take(event)) yield event;
          if (asking.over) return;
        }
      } catch (error) {
        if (!isLost(error)) throw error;
        lost = error;
      }
      asking.lost(lost);
    }
  }

  /**
   * Everything that happens in the session, from the cursor on. It ends with `resync_required`
   * where the server does not reach back so far: call `messages`, and follow from its cursor.
   */
  async *follow(sessionId: string, after?: string): AsyncGenerator<TurnlogEvent> {
    let cursor = after;
    for (let failures = 0; failures <= MOST_FAILURES; failures += 1) {
      await sleep(pause(failures));
      try {
        const path = `${session(sessionId)}/stream${query({ after: cursor })}`;
        for await (const event of this.#stream({ path, wait: 0 })) {
          cursor = event.cursor;
          failures = 0;
          yield event;
          if (event.type === "resync_required") return;
        }
      } catch (error) {
        if (!isLost(error) || failures === MOST_FAILURES) throw error;
      }
    }
  }

  /** Stops what runs; with `turnId` only that turn: the next one may have begun by now. */
  stop(sessionId: string, turnId?: string): Promise<{ stopped: boolean }> {
    const query = turnId ? `?turnId=${encodeURIComponent(turnId)}` : "";
    return this.#json("POST", `${session(sessionId)}/stop${query}`);
  }

  async approvals(status: string | undefined = "pending"): Promise<Approval[]> {
    const found = await this.#json<{ approvals: Approval[] }>("GET", `/api/approvals${query({ status })}`);
    return found.approvals;
  }

  /** Let the call run; `args` where it shall run with others. */
  approve(approvalId: string, args?: Record<string, unknown>): Promise<Approval> {
    return this.#decide(approvalId, args ? { approved: true, args } : { approved: true });
  }

  reject(approvalId: string, reason?: string): Promise<Approval> {
    return this.#decide(approvalId, reason ? { approved: false, reason } : { approved: false });
  }

  /** A picture, a PDF or a document, for `fileIds` of a question. */
  async upload(sessionId: string, file: Blob, name: string): Promise<Record<string, unknown>> {
    const head = new TextDecoder("latin1").decode(await file.slice(0, 1024).arrayBuffer());
    const form = new FormData();
    form.append("file", file, name);
    const path = `${session(sessionId)}/files${uploadRoute(head)}`;
    return parse(await (await this.#send(path, { method: "POST", body: form })).text());
  }

  #decide(approvalId: string, decision: object): Promise<Approval> {
    return this.#json("POST", `/api/approvals/${encodeURIComponent(approvalId)}`, decision);
  }

  async #json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const init: RequestInit = { method };
    if (body !== undefined) {
      init.body = stringify(body);
      init.headers = { "content-type": "application/json" };
    }
    return parse<T>(await (await this.#send(path, init)).text());
  }

  async *#stream(request: Request): AsyncGenerator<TurnlogEvent> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    const init: RequestInit = { headers };
    if (request.body !== undefined) {
      init.method = "POST";
      init.body = stringify(request.body);
      headers["content-type"] = "application/json";
    }
    const response = await this.#send(request.path, init);
    if (response.body) yield* frames(response.body);
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const { token, url } = this.#settings;
    const headers = new Headers(init.headers);
    if (token) headers.set("authorization", `Bearer ${typeof token === "string" ? token : await token()}`);
    const response = await this.#fetch(url + path, { ...init, headers });
    if (response.ok) return response;
    const problem = (await response.json().catch(() => ({}))) as { detail?: string; type?: string };
    const detail = problem.detail ?? `The server answered ${response.status}.`;
    throw new ServerError(response.status, detail, problem.type?.split(":").pop() ?? "unknown");
  }
}

/** Pictures, PDFs and documents have a route each. */
function uploadRoute(head: string): string {
  if (/^(\xff\xd8\xff|.PNG|GIF8|RIFF)/.test(head)) return "";
  return head.includes("%PDF-") ? "/pdf" : "/document";
}

function session(id: string): string {
  return `/api/sessions/${encodeURIComponent(id)}`;
}

function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

function sleep(milliseconds: number): Promise<void> {
  return milliseconds ? new Promise((done) => setTimeout(done, milliseconds)) : Promise.resolve();
}

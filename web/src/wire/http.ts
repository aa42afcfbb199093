/** Requests. What goes wrong is a `Problem` with a sentence for people. */
import { parse, stringify } from "./json";
import { at } from "./place";
import { token, untilSignedIn } from "./token";

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly retryAfter: number | null = null,
  ) {
    super(detail);
  }
}

export const NO_CONNECTION = new Problem(0, "no_connection", "No connection to the server.");

export interface Options {
  body?: unknown;
  signal?: AbortSignal;
  accept?: string;
  quiet?: boolean; // fail with 401 instead of asking to sign in
}

export async function request(method: string, path: string, options: Options = {}): Promise<Response> {
  const shown = token.get();
  const response = await once(method, path, options);
  if (response.status === 401 && !options.quiet) {
    await untilSignedIn(shown);
    return request(method, path, options);
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function ask<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await request(method, path, options);
  return parse<T>(await textOf(response, options.signal));
}

/** An answer can break off after its head, too. */
async function textOf(response: Response, signal?: AbortSignal): Promise<string> {
  return response.text().catch((error: unknown) => {
    throw signal?.aborted ? error : NO_CONNECTION;
  });
}

export const get = <T>(path: string, options?: Options): Promise<T> => ask<T>("GET", path, options);
export const post = <T>(path: string, body?: unknown): Promise<T> => ask<T>("POST", path, { body });
export const patch = <T>(path: string, body: unknown): Promise<T> => ask<T>("PATCH", path, { body });

export function authorization(): Record<string, string> {
  const value = token.get();
  return value ? { authorization: `Bearer ${value}` } : {};
}

async function once(method: string, path: string, options: Options): Promise<Response> {
  const { body, signal, accept } = options;
  const isForm = body instanceof FormData;
  try {
    return await fetch(at(path), {
      method,
      signal,
      headers: {
        ...authorization(),
        ...(accept && { accept }),
        ...(body !== undefined && !isForm && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: isForm ? body : stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw NO_CONNECTION;
  }
}

export async function problemOf(response: Response): Promise<Problem> {
  const after = Number(response.headers.get("retry-after")) || null;
  const text = await textOf(response);
  try {
    const { type, detail } = parse<{ type: string; detail: string }>(text);
    return new Problem(response.status, type.split(":").at(-1)!, detail, after);
  } catch {
    return new Problem(response.status, "unexpected", `The server answered ${response.status}.`, after);
  }
}

/** A sentence for whatever was thrown. */
export function sentence(error: unknown): string {
  return error instanceof Problem ? error.message : "Something went wrong on this page. Reload it.";
}

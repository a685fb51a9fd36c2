import type { Problem } from "../api/types";

/** The server answered, and said no: `problem.code` is stable, `problem.what_to_do` is the way out. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "Refused";
  }

  get status(): number {
    return this.problem.status;
  }
}

/** No answer came: the network is gone or the server is. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super("The server did not answer.", { cause });
    this.name = "Unreachable";
  }
}

export interface Credentials {
  csrf: string | null;
  /** Called when a request that needs a session found none. */
  lost: () => void;
}

const credentials: Credentials = { csrf: null, lost: () => undefined };

export function setCredentials(change: Partial<Credentials>): void {
  Object.assign(credentials, change);
}

export interface RequestOptions {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** A form goes as it is, all else as JSON. */
  body?: unknown;
  signal?: AbortSignal;
  /** A 401 is an answer here, not a lost session. */
  anonymous?: boolean;
  headers?: Record<string, string>;
}

/** One request; the body as JSON, or what went wrong as `Refused` or `Unreachable`. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  if (!response.ok) throw await refusal(response, options.anonymous ?? false);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** A response whose body is a stream; its errors are those of `request`. */
export async function open(path: string, options: RequestOptions = {}): Promise<Response> {
  const response = await send(path, { ...options, headers: { Accept: "text/event-stream", ...options.headers } });
  if (!response.ok) throw await refusal(response, options.anonymous ?? false);
  return response;
}

async function send(path: string, { method = "GET", body, signal, headers }: RequestOptions): Promise<Response> {
  const all: Record<string, string> = { Accept: "application/json", ...headers };
  const form = body instanceof FormData;
  if (body !== undefined && !form) all["Content-Type"] = "application/json";
  if (method !== "GET" && credentials.csrf !== null) all["X-CSRF-Token"] = credentials.csrf;
  const init: RequestInit = { method, headers: all, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) init.body = form ? body : JSON.stringify(body);
  if (signal !== undefined) init.signal = signal;
  try {
    return await fetch(path, init);
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Unreachable(error);
  }
}

async function refusal(response: Response, anonymous: boolean): Promise<Refused> {
  if (response.status === 401 && !anonymous) credentials.lost();
  return new Refused(await readProblem(response));
}

async function readProblem(response: Response): Promise<Problem> {
  const fallback: Problem = {
    title: response.statusText || `HTTP ${response.status}`,
    status: response.status,
    detail: "",
    code: `http_${response.status}`,
  };
  try {
    const body = (await response.json()) as unknown;
    return typeof body === "object" && body !== null ? { ...fallback, ...body, status: response.status } : fallback;
  } catch {
    return fallback;
  }
}

import { vi } from "vitest";
import type { Envelope, PersonRequest, Profile, ScheduleFailure, ThreadSummary } from "../api/types";
import { LogMaker } from "./envelopes";

type Handler = (request: { url: URL; body: unknown; init: RequestInit }) => Response | Promise<Response>;

export const json = (body: unknown, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });

export const problem = (status: number, code: string, detail: string): Response =>
  json({ type: "about:blank", title: code, status, detail, code, what_to_do: "Try it later." }, status);

/** One open event stream, written to by the test. */
export class FakeStream {
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly response: Response;
  open = true;

  constructor(
    readonly url: URL,
    signal: AbortSignal | null | undefined,
  ) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.controller = controller;
      },
      cancel: () => {
        this.open = false;
      },
    });
    this.response = new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    signal?.addEventListener("abort", () => this.break());
  }

  text(chunk: string): void {
    if (this.open) this.controller?.enqueue(new TextEncoder().encode(chunk));
  }

  log(envelope: Envelope): void {
    this.text(`id: ${envelope.position}\nevent: log\ndata: ${JSON.stringify(envelope)}\n\n`);
  }

  live(frame: unknown): void {
    this.text(`event: live\ndata: ${JSON.stringify(frame)}\n\n`);
  }

  /** The connection is gone, without a word. */
  break(): void {
    if (!this.open) return;
    this.open = false;
    this.controller?.error(new TypeError("network"));
  }
}

export const PROFILE: Profile = {
  id: "assistant",
  name: "Assistant",
  description: "Answers questions.",
  icon: null,
  starters: ["What can you do?"],
  data: ["the Handbook"],
  model: { name: "demo", location: "demo" },
  version: 3,
  blueprint: "LLMWrappingAgent",
  is_default: true,
  when_default: "next",
};

export const SESSION = {
  account: { id: "a1", name: "Anna Keller", login: "anna", locale: "en" },
  tenant: "default",
  role: "owner",
  csrf: "token-1",
  private_workspace: "w1",
};

const SERVER = {
  version: "0.1.0",
  demo_model: true,
  default_model: null,
  sign_in: { local: true, token: true },
  locales: ["en", "de", "fr", "it"],
  limits: { message_bytes: 1_048_576 },
};

/** A server in the page: a log, and the routes over it. Tests replace a route to make it fail. */
export class FakeServer {
  readonly maker = new LogMaker();
  readonly streams: FakeStream[] = [];
  readonly calls: { method: string; path: string; body: unknown; headers: Headers }[] = [];
  readonly threads = new Map<string, ThreadSummary>();
  /** What waits for the person. */
  inbox: PersonRequest[] = [];
  /** Schedules that have failed. */
  failures: ScheduleFailure[] = [];
  private readonly routes = new Map<string, Handler>();
  /** Nobody answers at all. */
  down = false;

  constructor() {
    this.on("GET /api/server", () => json(SERVER));
    this.on("GET /api/session", () => json(SESSION));
    this.on("GET /api/profiles", () => json({ items: [PROFILE], next: null }));
    this.on("GET /api/inbox", () => json({ items: this.inbox, next: null }));
    this.on("GET /api/schedules/failures", () => json({ items: this.failures, next: null }));
    this.on("GET /api/workspaces/w1/threads", () => json({ items: [...this.threads.values()], next: null }));
    this.on("GET /api/workspaces/w1/log", ({ url }) => {
      const threads = url.searchParams.get("threads")?.split(",") ?? [];
      const items = this.maker.envelopes.filter((one) => threads.includes(one.thread ?? ""));
      return json({ items, head_seq: this.maker.envelopes.length });
    });
    this.on("GET /api/workspaces/w1/stream", ({ url, init }) => this.stream(url, init));
    vi.stubGlobal("fetch", this.fetch);
  }

  on(route: string, handler: Handler): void {
    this.routes.set(route, handler);
  }

  thread(id: string, title: string | null = `Title of ${id}`): void {
    const row: ThreadSummary = {
      id,
      workspace: "w1",
      title,
      title_source: null,
      profile: "assistant",
      profile_name: "Assistant",
      created: "2026-01-05T09:00:00Z",
      updated: "2026-01-05T09:00:00Z",
      active_run: null,
      last_status: null,
    };
    this.threads.set(id, row);
    this.on(`GET /api/threads/${id}`, () => json(row));
    this.maker.add("thread_created", { title, profile: "assistant" }, id);
  }

  /** The newest stream; the only one that is open. */
  get current(): FakeStream {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error("No stream was opened.");
    return stream;
  }

  /** Tells the log's newest fact to who listens. */
  tell(envelope: Envelope): void {
    for (const stream of this.streams) stream.log(envelope);
  }

  count(method: string, path: string): number {
    return this.calls.filter((call) => call.method === method && call.path === path).length;
  }

  private stream(url: URL, init: RequestInit): Response {
    const stream = new FakeStream(url, init.signal);
    this.streams.push(stream);
    const after = url.searchParams.get("after");
    const missed = after === null ? [] : this.maker.envelopes.filter((one) => one.position > Number(after));
    for (const one of missed) stream.log(one);
    return stream.response;
  }

  private readonly fetch = async (input: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input, "http://localhost");
    const method = init.method ?? "GET";
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    this.calls.push({ method, path: url.pathname, body, headers: new Headers(init.headers) });
    if (this.down) throw new TypeError("Failed to fetch");
    const handler = this.routes.get(`${method} ${url.pathname}`);
    return handler === undefined ? problem(404, "not_found", "There is nothing here.") : handler({ url, body, init });
  };
}

import { create } from "zustand";
import type { Envelope, LiveFrame, LiveSnapshot, Profile, ThreadSummary } from "../api/types";
import * as server from "../client/endpoints";
import { follow, type ConnectionState, type Following } from "../client/follow";
import { Refused } from "../client/http";
import type { StreamEvent } from "../client/sse";
import { reduce, reduceAll, type Arrival } from "../log/reduce";
import { isWhole } from "../log/run";
import { EMPTY_VIEW, type ViewState } from "../log/state";
import { addRows, NO_SUMMARIES, touch, type Summaries } from "../log/summaries";
import { workingRun } from "../log/tree";
import { forgetInbox, loadInbox, noteInLog } from "./inbox";

/** How many opened threads stay watched, so that coming back shows all at once. */
const WATCHED_THREADS = 6;
const LOG_PAGE = 400;

export type Loading = "loading" | "ready" | "missing" | "failed";

export interface OpenedThread {
  loading: Loading;
  /** Older messages are on the server. */
  more: boolean;
  /** The log was read back to here. */
  from?: number;
}

interface ViewStore {
  view: ViewState;
  summaries: Summaries;
  nextThreads: string | null;
  listLoading: Loading;
  profiles: Profile[] | null;
  /** The profiles could not be read, and nobody asked for them since. */
  profilesFailed: boolean;
  opened: Readonly<Record<string, OpenedThread>>;
  connection: ConnectionState;
}

export const useView = create<ViewStore>()(() => ({
  view: EMPTY_VIEW,
  summaries: NO_SUMMARIES,
  nextThreads: null,
  listLoading: "loading",
  profiles: null,
  profilesFailed: false,
  opened: {},
  connection: "connecting",
}));

const { getState: get, setState: set } = useView;

const FRAMES = new Set<string>([
  "snapshot",
  "part_started",
  "text_delta",
  "thinking_delta",
  "tool_args_delta",
  "part_ended",
  "display",
]);

/** The tab's one stream and what it watches. */
class Watch {
  private workspace: string | null = null;
  private following: Following | null = null;
  private seq: number | null = null;
  private threads: string[] = [];
  private run: string | null = null;
  private watched = new Set<string>();
  private frames: Arrival[] = [];
  private flushing = false;

  start(workspace: string): void {
    if (this.workspace === workspace) return;
    this.workspace = workspace;
    this.connect();
  }

  stop(): void {
    this.following?.close();
    this.following = null;
    this.workspace = null;
    this.seq = null;
    this.threads = [];
    this.run = null;
    this.frames = [];
  }

  /** The thread's log is known up to `head`: what follows comes by the stream. */
  thread(id: string, head: number | null): void {
    this.threads = [id, ...this.threads.filter((one) => one !== id)].slice(0, WATCHED_THREADS);
    if (head !== null) this.seq = Math.min(this.seq ?? head, head);
    this.rewatch();
  }

  watchRun(run: string | null): void {
    this.run = run;
    this.rewatch();
  }

  /** Connects anew when something is to be watched that is not yet; what is watched too much does no harm. */
  rewatch(): void {
    if (this.following === null || this.wanted().every((id) => this.watched.has(id))) return;
    this.following.restart();
  }

  restart(): void {
    this.following?.restart();
  }

  /** Runs that work in watched threads are watched too, for their activity lines. */
  private runs(): string[] {
    const { view } = get();
    const working = this.threads.map((id) => view.threads[id]).map((one) => (one ? workingRun(one)?.id : undefined));
    return [...new Set([this.run, ...working])].filter((id): id is string => id != null).sort();
  }

  private wanted(): string[] {
    return [...this.threads, ...this.runs()];
  }

  private connect(): void {
    const workspace = this.workspace ?? "";
    this.following = follow({
      url: () => this.url(workspace),
      onEvent: (event) => this.receive(event),
      onState: (connection) => this.state(connection),
    });
  }

  private state(connection: ConnectionState): void {
    const back = get().connection === "lost" && connection === "open";
    set({ connection });
    if (back) void loadInbox();
    if (connection === "open") for (const run of this.runs()) void loadJournal(run);
  }

  private url(workspace: string): string {
    this.watched = new Set(this.wanted());
    const query = new URLSearchParams();
    if (this.seq !== null) query.set("after", String(this.seq));
    if (this.threads.length > 0) query.set("live", this.threads.join());
    const runs = this.runs();
    if (runs.length > 0) query.set("runs", runs.join());
    return `/api/workspaces/${encodeURIComponent(workspace)}/stream?${query.toString()}`;
  }

  private receive({ event, data }: StreamEvent): undefined {
    if (event === "reset") void this.reload();
    else if (event === "log") this.log(JSON.parse(data) as Envelope);
    else if (event === "live") this.live(JSON.parse(data) as LiveFrame | LiveSnapshot);
    else if (event === "entry") this.entry(JSON.parse(data) as Envelope);
    else if (event === "hello") this.hello(JSON.parse(data) as { head_seq: number });
    // `end` says why the server closes; the follower comes back. Unknown events are a newer server's.
  }

  private hello({ head_seq }: { head_seq: number }): void {
    this.seq ??= head_seq;
  }

  private log(envelope: Envelope): void {
    this.seq = Math.max(this.seq ?? 0, envelope.position);
    this.flush();
    noteInLog(envelope);
    const { view, summaries, opened } = get();
    const known = envelope.thread != null && opened[envelope.thread]?.loading === "ready";
    const next = known ? reduce(view, { kind: "log", envelopes: [envelope] }) : view;
    set({ view: next, summaries: touch(summaries, envelope) });
    if (envelope.type === "run_ended") this.completeJournal(envelope);
    this.rewatch();
  }

  /** The last entries may have been on their way when the run left the watched set. */
  private completeJournal({ data }: Envelope): void {
    const run = data.run_id;
    if (typeof run === "string" && get().view.journals[run]?.entries.length) void loadJournal(run);
  }

  private entry(envelope: Envelope): void {
    if (envelope.run == null) return;
    this.queue({ kind: "entries", run: envelope.run, entries: [envelope] });
  }

  /** `frames_lost` and what else a newer server tells in passing is followed by a snapshot, which is enough. */
  private live(frame: LiveFrame | LiveSnapshot): void {
    if (FRAMES.has(frame.type)) this.queue({ kind: "live", frame });
  }

  /** Frames of one picture are drawn together. */
  private queue(arrival: Arrival): void {
    this.frames.push(arrival);
    if (this.flushing) return;
    this.flushing = true;
    if (document.visibilityState === "hidden") setTimeout(() => this.flush(), 250);
    else requestAnimationFrame(() => this.flush());
  }

  private flush(): void {
    this.flushing = false;
    const frames = this.frames.splice(0);
    if (frames.length === 0) return;
    const { view } = get();
    const next = reduceAll(view, frames);
    set({ view: next });
    // An entry that leaves a hole says that others were missed.
    for (const run of new Set(frames.map(runOf))) {
      const entries = next.journals[run]?.entries ?? [];
      if (entries.length > 0 && !isWhole(entries)) void loadJournal(run);
    }
  }

  /** The position is gone: read the state anew, and follow from there. */
  private async reload(): Promise<void> {
    this.seq = null;
    await Promise.all([loadThreads(), loadInbox(), ...this.threads.map((id) => loadThread(id, true))]);
    this.restart();
  }
}

const watch = new Watch();

let workspaceId = "";

export function startView(workspace: string): void {
  workspaceId = workspace;
  watch.start(workspace);
  void loadThreads();
  void loadInbox();
  loadProfiles();
}

export function stopView(): void {
  watch.stop();
  workspaceId = "";
  readingProfiles = null;
  forgetInbox();
  set({ view: EMPTY_VIEW, summaries: NO_SUMMARIES, nextThreads: null, listLoading: "loading", opened: {} });
  set({ profiles: null, profilesFailed: false });
}

export const reconnect = (): void => watch.restart();

export const watchRun = (run: string | null): void => watch.watchRun(run);

let readingProfiles: Promise<Profile[]> | null = null;

/** The profiles of the person: at once when they are known, else after a reading, which callers share. */
export function knownProfiles(): Promise<Profile[]> {
  const { profiles } = get();
  return profiles === null ? (readingProfiles ??= readProfiles()) : Promise.resolve(profiles);
}

/** Reads them if they are not known; a failure is in the state. */
export function loadProfiles(): void {
  knownProfiles().catch(() => undefined);
}

async function readProfiles(): Promise<Profile[]> {
  const workspace = workspaceId;
  set({ profilesFailed: false });
  try {
    const { items } = await server.listProfiles();
    if (workspace === workspaceId) set({ profiles: items });
    return items;
  } catch (error) {
    if (workspace === workspaceId) set({ profilesFailed: true });
    throw error;
  } finally {
    if (workspace === workspaceId) readingProfiles = null;
  }
}

export async function loadThreads(): Promise<void> {
  try {
    const page = await server.listThreads(workspaceId);
    takeRows(page.items, page.next, true);
  } catch {
    if (get().listLoading === "loading") set({ listLoading: "failed" });
  }
}

/** A thread that was just made here is in the list before the log tells of it. */
export function knowThread(row: ThreadSummary): void {
  set({ summaries: addRows(get().summaries, [row]) });
}

export async function loadMoreThreads(): Promise<void> {
  const { nextThreads } = get();
  if (nextThreads === null) return;
  const page = await server.listThreads(workspaceId, nextThreads);
  takeRows(page.items, page.next, false);
}

function takeRows(rows: readonly ThreadSummary[], next: string | null, first: boolean): void {
  const { summaries, nextThreads, listLoading } = get();
  const keepNext = first && listLoading === "ready";
  set({ summaries: addRows(summaries, rows), nextThreads: keepNext ? nextThreads : next, listLoading: "ready" });
}

/** Reads a thread's log and watches it from there on. Opened again it is there at once. */
export async function loadThread(id: string, again = false): Promise<void> {
  const known = get().opened[id];
  if (known?.loading === "ready" && !again) {
    watch.thread(id, null);
    return;
  }
  if (known === undefined) putOpened(id, { loading: "loading", more: false });
  try {
    const [row, page] = await Promise.all([server.readThread(id), server.readLog(workspaceId, id, LOG_PAGE)]);
    const { view, summaries } = get();
    // The log may have been read later than the row, and what it tells comes by no stream again.
    const rows = page.items.reduce(touch, addRows(summaries, [row]));
    set({ view: reduce(view, { kind: "log", envelopes: page.items }), summaries: rows });
    putOpened(id, readBack(id, page.items));
    watch.thread(id, page.head_seq);
  } catch (error) {
    if (again) return;
    putOpened(id, { loading: error instanceof Refused && error.status === 404 ? "missing" : "failed", more: false });
  }
}

/** A thread's log begins with its creation; facts of the whole workspace lie between and before its own. */
function readBack(id: string, items: readonly Envelope[]): OpenedThread {
  const begun = items.some((one) => one.type === "thread_created" && one.thread === id);
  const from = items[0]?.position;
  return from === undefined || begun ? { loading: "ready", more: false } : { loading: "ready", more: true, from };
}

export async function loadEarlier(id: string): Promise<void> {
  const from = get().opened[id]?.from;
  if (from === undefined) return;
  const page = await server.readLog(workspaceId, id, LOG_PAGE, from);
  const { view } = get();
  set({ view: reduce(view, { kind: "log", envelopes: page.items }) });
  putOpened(id, readBack(id, page.items));
}

function putOpened(id: string, opened: OpenedThread): void {
  set({ opened: { ...get().opened, [id]: opened } });
}

const loadingJournals = new Set<string>();

/** Reads what is missing of a run's journal; what is known is not read again. */
export async function loadJournal(run: string): Promise<void> {
  if (loadingJournals.has(run)) return;
  loadingJournals.add(run);
  try {
    let after = wholeUpTo(run);
    for (;;) {
      const page = await server.readTimeline(run, after);
      set({ view: reduce(get().view, { kind: "entries", run, entries: page.items }) });
      if (page.next === null || page.items.length === 0) return;
      after = page.next;
    }
  } catch {
    // The run view and the activity line say that nothing is there yet; the next look tries again.
  } finally {
    loadingJournals.delete(run);
  }
}

/** The entries without a hole end here. */
function wholeUpTo(run: string): number {
  const entries = get().view.journals[run]?.entries ?? [];
  const hole = entries.findIndex((entry, index) => entry.position !== index + 1);
  return hole < 0 ? entries.length : hole;
}

function runOf(arrival: Arrival): string {
  if (arrival.kind === "live") return arrival.frame.run;
  return arrival.kind === "entries" ? arrival.run : "";
}

import type { Actor, Envelope, Failure, PartKind, PersonRequest, RunStatus, Usage } from "../api/types";

/** A message of the tree. A reply that is still to come is there from its request on, `posted` false. */
export interface Message {
  id: string;
  parent: string | null;
  role: "user" | "assistant";
  content: string;
  posted: boolean;
  retracted: boolean;
  run: string | null;
  /** The request that this message asks in the conversation. */
  asks: string | null;
  incomplete: boolean;
  error: Failure | null;
  followUps: string[];
  time: string;
  actor: Actor | null;
  /** Of a message said into a run that worked: whether a step of that run has taken it. */
  meanwhile: "coming" | "taken" | null;
}

/** What the log says of a run. */
export interface RunFacts {
  id: string;
  question: string | null;
  /** The message below which its reply stands, but for what was said into it and is not taken yet. */
  below: string | null;
  /** Whether something can be said into it. */
  steerable: boolean;
  /** What was said into it and is not taken yet, in order. */
  coming: readonly string[];
  status: RunStatus;
  stopping: boolean;
  /** While it waits: when it goes on by itself; null if it does not. */
  until: string | null;
  /** While it waits: the requests that it waits for. */
  pausedFor: readonly string[];
  profile: string | null;
  profileName: string | null;
  profileVersion: number | null;
  requested: string;
  started: string | null;
  ended: string | null;
  error: Failure | null;
  usage: Usage | null;
  cost: number | null;
  seconds: number | null;
  steps: number | null;
}

/** A thread is the fold of its envelopes, and of nothing else. */
export interface ThreadState {
  id: string;
  /** Its envelopes, each once, by position. */
  log: readonly Envelope[];
  title: string | null;
  titleSource: string | null;
  profile: string | null;
  messages: Readonly<Record<string, Message>>;
  /** Message ids in the order in which they were posted or requested. */
  order: readonly string[];
  runs: Readonly<Record<string, RunFacts>>;
  /** What its runs asked people, in the order in which they did. */
  requests: Readonly<Record<string, PersonRequest>>;
}

export interface LivePart {
  kind: PartKind;
  text: string;
  ended: boolean;
}

export interface LiveResponse {
  attempt: number;
  response: number;
  parts: Readonly<Record<number, LivePart>>;
}

/** What streams now; never the only copy of anything, and gone when the message is posted. */
export interface Live {
  n: number;
  responses: Readonly<Record<string, LiveResponse>>;
  display: Readonly<Record<string, unknown>> | null;
}

export interface Journal {
  /** The run's entries, each once, by position. */
  entries: readonly Envelope[];
  live: Live;
  /** The reply is posted: what still streams in is late. */
  answered: boolean;
}

export interface ViewState {
  threads: Readonly<Record<string, ThreadState>>;
  journals: Readonly<Record<string, Journal>>;
}

export const NO_LIVE: Live = { n: 0, responses: {}, display: null };
export const NO_JOURNAL: Journal = { entries: [], live: NO_LIVE, answered: false };
export const EMPTY_VIEW: ViewState = { threads: {}, journals: {} };

export function emptyThread(id: string): ThreadState {
  const known = { title: null, titleSource: null, profile: null };
  return { id, log: [], ...known, messages: {}, order: [], runs: {}, requests: {} };
}

/** Those that are not known yet, each position once, in order. */
export function unknownOf(known: readonly Envelope[], added: readonly Envelope[]): Envelope[] {
  const last = known.at(-1)?.position ?? 0;
  const old = added.some((one) => one.position <= last) ? new Set(known.map((one) => one.position)) : new Set<number>();
  const fresh = new Map<number, Envelope>();
  for (const one of added) if (!old.has(one.position) && !fresh.has(one.position)) fresh.set(one.position, one);
  return [...fresh.values()].sort((a, b) => a.position - b.position);
}

/** All of them in order; the second is what `unknownOf` gave. */
export function mergeByPosition(known: readonly Envelope[], fresh: readonly Envelope[]): readonly Envelope[] {
  const all = [...known, ...fresh];
  return follows(known, fresh) ? all : all.sort((a, b) => a.position - b.position);
}

/** Everything fresh comes after everything known. */
export function follows(known: readonly Envelope[], fresh: readonly Envelope[]): boolean {
  return (fresh[0]?.position ?? 0) > (known.at(-1)?.position ?? 0);
}

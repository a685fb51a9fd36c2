/**
 * What travels between the server and this client: the words of the log, the journal and the REST routes.
 *
 * What REST gives is taken from `openapi.ts`, which `make types` writes: a field that the server renames or drops does
 * not build here. By hand is what is read more kindly than it is written, and what no OpenAPI document describes.
 */
import type { components } from "./openapi";

type Server = components["schemas"];

export interface Actor {
  kind: "user" | "agent" | "external_agent" | "system" | "evaluator";
  id?: string;
  name?: string;
}

/** A text of the server: already in the reader's language, or one text for each language. */
export type ServerText = string | Record<string, string>;

/** The one form of a fact on the wire, whether it comes from a workspace's log or from a run's journal. */
export type Envelope = Pick<Server["EnvelopeView"], "position" | "id" | "type" | "time" | "data"> &
  Partial<Pick<Server["EnvelopeView"], "tenant" | "workspace" | "thread" | "run" | "call" | "cause" | "v">> & {
    actor?: Actor | null;
    display?: boolean;
    label?: ServerText | null;
    icon?: string | null;
  };

export interface Failure {
  code: string;
  message: string;
  what_to_do?: string | null;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
}

export type RunStatus = "queued" | "working" | "waiting" | "completed" | "failed" | "stopped";

export type PartKind = "text" | "thinking" | "tool";

/** Token-level output: ephemeral, numbered per run, superseded by the durable message. */
export interface LiveFrame {
  run: string;
  attempt: number;
  response: number;
  part: number;
  n: number;
  type: "part_started" | "text_delta" | "thinking_delta" | "tool_args_delta" | "part_ended" | "display";
  kind?: PartKind | null;
  text?: string | null;
  event?: Record<string, unknown> | null;
}

export interface LiveSnapshot {
  type: "snapshot";
  run: string;
  n: number;
  responses: {
    attempt: number;
    response: number;
    parts: { part: number; kind: PartKind; text: string; ended: boolean }[];
  }[];
}

export type ServerInfo = Server["ServerInfo"];

export type Session = Server["SessionView"];

export type Profile = Pick<
  Server["ProfileView"],
  | "id"
  | "name"
  | "description"
  | "icon"
  | "starters"
  | "data"
  | "model"
  | "version"
  | "blueprint"
  | "is_default"
  | "when_default"
>;

/** For those who may edit it, with the form of its settings. */
export type ProfileDetail = Profile & Pick<Server["ProfileView"], "config_schema">;

export type ForkAccepted = Server["ForkAccepted"];

export type Replay = Server["ReplayView"];
export type Prompt = Server["PromptView"];
export type RunTest = Server["RunTestView"];

/** A title may have sources that are not known here yet. */
export type ThreadSummary = Omit<Server["ThreadSummaryView"], "title_source"> & { title_source: string | null };

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface LogPage {
  items: Envelope[];
  head_seq: number;
}

export interface TimelinePage {
  items: Envelope[];
  next: number | null;
  ended: boolean;
}

export type RunRecord = Pick<
  Server["RunView"],
  "id" | "tenant" | "workspace" | "thread" | "blueprint" | "started" | "ended" | "cost" | "expires"
> &
  Pick<Server["RunView"], "profile" | "profile_name" | "profile_version"> &
  Partial<Pick<Server["RunView"], "title" | "parent_run" | "forked_from" | "forked_at" | "scheduled">> & {
    status: RunStatus | "running";
    started_by: Actor | null;
    usage: Usage | null;
    error: Failure | null;
  };

/** What a run asks a person, in the reader's language. */
export type ScheduleStatus = Server["ScheduleStatusView"];

export type Occurrence = Server["OccurrenceView"];

export type ScheduleFailure = Server["ScheduleFailureView"];

export type PersonRequest = Omit<Server["RequestView"], "answered_by"> & { answered_by: Actor | null };

export type Answer = Record<string, string | boolean>;

export type RunGraph = Server["GraphView"];

export type Posted = Server["PostedView"];

export type When = Server["ProfileView"]["when_default"];

/** RFC 9457, with our stable code and the way out; what stands before the server may leave fields out. */
export type Problem = Pick<Server["Problem"], "title" | "status" | "detail" | "code"> &
  Partial<Pick<Server["Problem"], "type" | "what_to_do" | "request_id">>;

/** Something that is remembered of the person. */
export type Memory = Server["MemoryView"];
export type MemoryPage = Server["MemoryList"];

/** Documents that are searched together. */
export type Collection = Server["CollectionView"];
export type KnowledgeList = Server["KnowledgeList"];
export type KnowledgeDocument = Server["DocumentView"];
/** A passage that a question found. */
export type KnowledgeHit = Server["RetrievedDocument"];

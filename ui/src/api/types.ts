/** What travels between the server and this client: the words of the log, the journal and the REST routes. */

export interface Actor {
  kind: "user" | "agent" | "external_agent" | "system" | "evaluator";
  id?: string;
  name?: string;
}

/** A text of the server: already in the reader's language, or one text for each language. */
export type ServerText = string | Record<string, string>;

/** The one form of a fact on the wire, whether it comes from a workspace's log or from a run's journal. */
export interface Envelope {
  position: number;
  id: string;
  type: string;
  time: string;
  tenant?: string;
  workspace?: string | null;
  thread?: string | null;
  run?: string | null;
  call?: string | null;
  actor?: Actor | null;
  cause?: string | null;
  v?: number;
  data: Record<string, unknown>;
  display?: boolean;
  label?: ServerText | null;
  icon?: string | null;
}

export interface Failure {
  code: string;
  message: string;
  what_to_do?: string | null;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
}

export type RunStatus = "queued" | "working" | "completed" | "failed" | "stopped";

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

export interface ServerInfo {
  version: string;
  demo_model: boolean;
  default_model: string | null;
  sign_in: { local: boolean; token: boolean };
  locales: string[];
  limits: { message_bytes: number };
}

export interface Session {
  account: { id: string; name: string; login: string | null; locale: string | null };
  tenant: string;
  role: "owner" | "admin" | "builder" | "member";
  csrf: string;
  private_workspace: string;
}

export interface Profile {
  id: string;
  name: string;
  description: string;
  icon: string | null;
  starters: string[];
  data: string[];
  model: { name: string; location: "local" | "remote" | "demo" };
  version: number;
  blueprint: string;
  is_default: boolean;
}

export interface ThreadSummary {
  id: string;
  workspace: string;
  title: string | null;
  title_source: string | null;
  profile: string | null;
  profile_name: string | null;
  created: string;
  updated: string;
  active_run: string | null;
  last_status: "working" | "completed" | "failed" | "stopped" | null;
}

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

export interface RunRecord {
  id: string;
  tenant: string;
  workspace: string;
  thread: string | null;
  profile: string;
  profile_name?: string | null;
  profile_version: number;
  blueprint: string;
  status: RunStatus | "running" | "waiting";
  started: string | null;
  ended: string | null;
  started_by?: Actor | null;
  usage: Usage | null;
  cost: string | number | null;
  error: Failure | null;
  model_calls?: number;
}

export interface RunGraph {
  nodes: {
    id: string;
    step: string;
    label: ServerText | null;
    icon: string | null;
    group: string | null;
    kind: "step" | "start" | "stop";
  }[];
  groups: { id: string; label: ServerText | null }[];
  edges: { source: string; target: string; event: string }[];
}

export interface Posted {
  run_id: string;
  message_id: string;
  seq: number;
}

export type When = "next" | "instead" | "now";

/** RFC 9457, with our stable code and the way out. */
export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  what_to_do?: string | null;
  request_id?: string | null;
}

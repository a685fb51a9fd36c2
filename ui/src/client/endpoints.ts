import type {
  Answer,
  ForkAccepted,
  LogPage,
  Memory,
  MemoryPage,
  Page,
  PersonRequest,
  Posted,
  Profile,
  ProfileDetail,
  Prompt,
  Replay,
  RunGraph,
  RunRecord,
  RunTest,
  ScheduleFailure,
  ScheduleStatus,
  ServerInfo,
  Session,
  ThreadSummary,
  TimelinePage,
  When,
} from "../api/types";
import { request } from "./http";

const at = encodeURIComponent;

export const readServer = () => request<ServerInfo>("/api/server", { anonymous: true });

export const readSession = () => request<Session>("/api/session", { anonymous: true });

export const signIn = (login: string, password: string) =>
  request<Session>("/api/session", { method: "POST", body: { login, password }, anonymous: true });

export const signOut = () => request<unknown>("/api/session", { method: "DELETE" });

export const changeLocale = (locale: string) => request<Session>("/api/session", { method: "PATCH", body: { locale } });

export const listProfiles = () => request<Page<Profile>>("/api/profiles");

export function listThreads(workspace: string, cursor?: string): Promise<Page<ThreadSummary>> {
  const query = new URLSearchParams({ limit: "50" });
  if (cursor !== undefined) query.set("cursor", cursor);
  return request(`/api/workspaces/${at(workspace)}/threads?${query.toString()}`);
}

export const readThread = (thread: string) => request<ThreadSummary>(`/api/threads/${at(thread)}`);

export const createThread = (id: string, workspace: string, profile: string) =>
  request<ThreadSummary>("/api/threads", { method: "POST", body: { id, workspace, profile } });

export const renameThread = (thread: string, title: string) =>
  request<ThreadSummary>(`/api/threads/${at(thread)}`, { method: "PATCH", body: { title } });

export interface NewMessage {
  message_id: string;
  content: string;
  when?: When;
}

export const postMessage = (thread: string, message: NewMessage) =>
  request<Posted>(`/api/threads/${at(thread)}/messages`, { method: "POST", body: message });

export const answerAgain = (thread: string, message: string, run: string) =>
  request<Posted>(`/api/threads/${at(thread)}/runs`, { method: "POST", body: { message_id: message, run_id: run } });

/** The newest part of a thread's log, or the part before `before`. */
export function readLog(workspace: string, thread: string, last: number, before?: number): Promise<LogPage> {
  const query = new URLSearchParams({ threads: thread, last: String(last) });
  if (before !== undefined) query.set("before_seq", String(before));
  return request(`/api/workspaces/${at(workspace)}/log?${query.toString()}`);
}

export interface RunsWanted {
  status: readonly string[];
  profile: string | null;
  thread: string | null;
  /** Instead those of schedules, for those who may see them. */
  scheduled?: boolean;
}

export function listRuns(
  { status, profile, thread, scheduled = false }: RunsWanted,
  cursor?: string,
): Promise<Page<RunRecord>> {
  const query = new URLSearchParams(status.map((one) => ["status", one]));
  if (profile !== null) query.set("profile", profile);
  if (thread !== null) query.set("thread", thread);
  if (scheduled) query.set("scheduled", "true");
  if (cursor !== undefined) query.set("cursor", cursor);
  return request(`/api/runs?${query.toString()}`);
}

export const listSchedules = () => request<Page<ScheduleStatus>>("/api/schedules");

export const listScheduleFailures = () => request<Page<ScheduleFailure>>("/api/schedules/failures");

export const dismissFailure = (profile: string, run: string) =>
  request<unknown>(`/api/profiles/${at(profile)}/schedule/dismiss`, { method: "POST", body: { run } });

export const letScheduleRun = (profile: string, enabled: boolean) =>
  request<unknown>(`/api/profiles/${at(profile)}`, { method: "PATCH", body: { schedule: { enabled } } });

/** Sent again with the same key it is the same run. */
export const runSchedule = (profile: string, key: string) =>
  request<{ run_id: string }>(`/api/profiles/${at(profile)}/schedule/run`, {
    method: "POST",
    headers: { "Idempotency-Key": key },
  });

export const readProfile = (profile: string) => request<ProfileDetail>(`/api/profiles/${at(profile)}`);

export interface NewFork {
  position: number;
  config: Record<string, unknown>;
  run_id: string;
}

export const forkRun = (run: string, fork: NewFork) =>
  request<ForkAccepted>(`/api/runs/${at(run)}/fork`, { method: "POST", body: fork });

export const replayRun = (run: string) => request<Replay>(`/api/runs/${at(run)}/replay`, { method: "POST" });

export const readRunTest = (run: string) => request<RunTest>(`/api/runs/${at(run)}/test`);

export const readPrompt = (run: string, position: number) =>
  request<Prompt>(`/api/runs/${at(run)}/prompts/${position}`);

export const readRun = (run: string) => request<RunRecord>(`/api/runs/${at(run)}`);

export const readGraph = (run: string) => request<RunGraph>(`/api/runs/${at(run)}/graph`);

export const readTimeline = (run: string, after: number) =>
  request<TimelinePage>(`/api/runs/${at(run)}/timeline?after=${after}&limit=1000`);

export function readInbox(cursor?: string): Promise<Page<PersonRequest>> {
  const query = new URLSearchParams({ limit: "200" });
  if (cursor !== undefined) query.set("cursor", cursor);
  return request(`/api/inbox?${query.toString()}`);
}

/** What was answered, the last first; an empty word is any. */
export function readAnswered(
  { profile, kind }: { profile: string; kind: string },
  cursor?: string,
): Promise<Page<PersonRequest>> {
  const query = new URLSearchParams();
  if (profile !== "") query.set("profile", profile);
  if (kind !== "") query.set("kind", kind);
  if (cursor !== undefined) query.set("cursor", cursor);
  return request(`/api/inbox/answered?${query.toString()}`);
}

export const readRequest = (id: string) => request<PersonRequest>(`/api/requests/${at(id)}`);

/** Sent again with the same key it is the same answer. */
export const answerRequest = (id: string, answer: Answer, key: string) =>
  request<unknown>(`/api/requests/${at(id)}/answer`, {
    method: "POST",
    body: { answer },
    headers: { "Idempotency-Key": key },
  });

export const stopRun = (run: string) => request<unknown>(`/api/runs/${at(run)}/stop`, { method: "POST" });

export function listMemories(query: string, cursor?: string): Promise<MemoryPage> {
  const wanted = new URLSearchParams({ limit: "50" });
  if (query !== "") wanted.set("query", query);
  if (cursor !== undefined) wanted.set("cursor", cursor);
  return request(`/api/me/memories?${wanted.toString()}`);
}

export const changeMemory = (memory: string, text: string) =>
  request<Memory>(`/api/me/memories/${at(memory)}`, { method: "PATCH", body: { text } });

export const deleteMemory = (memory: string) =>
  request<unknown>(`/api/me/memories/${at(memory)}`, { method: "DELETE" });

export const deleteMemories = () => request<{ deleted: number }>("/api/me/memories", { method: "DELETE" });

/** A file, for a link that the browser saves. */
export const MEMORY_EXPORT = "/api/me/memories/export";

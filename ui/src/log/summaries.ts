import type { Envelope, ThreadSummary } from "../api/types";
import { moment, text } from "./read";

/** The rows of the thread list, kept up to date from the log. `seen` keeps what arrives twice from turning it back. */
export interface Summaries {
  rows: Readonly<Record<string, ThreadSummary>>;
  seen: Readonly<Record<string, number>>;
}

export const NO_SUMMARIES: Summaries = { rows: {}, seen: {} };

/** Rows as the server has read them; one that the log has overtaken meanwhile changes nothing. */
export function addRows(summaries: Summaries, rows: readonly ThreadSummary[]): Summaries {
  const fresh = rows.filter((row) => !isOlder(row, summaries.rows[row.id]));
  return { ...summaries, rows: { ...summaries.rows, ...Object.fromEntries(fresh.map((row) => [row.id, row])) } };
}

function isOlder(row: ThreadSummary, known: ThreadSummary | undefined): boolean {
  return known !== undefined && moment(row.updated) < moment(known.updated);
}

export function touch(summaries: Summaries, envelope: Envelope): Summaries {
  const { thread, position, time } = envelope;
  if (thread == null || position <= (summaries.seen[thread] ?? 0)) return summaries;
  const seen = { ...summaries.seen, [thread]: position };
  const row = summaries.rows[thread] ?? firstRow(envelope, thread);
  if (row === null) return { ...summaries, seen };
  const updated = time > row.updated ? time : row.updated;
  return { rows: { ...summaries.rows, [thread]: { ...row, updated, ...changeOf(row, envelope) } }, seen };
}

function firstRow(envelope: Envelope, id: string): ThreadSummary | null {
  if (envelope.type !== "thread_created" || envelope.workspace == null) return null;
  return {
    id,
    workspace: envelope.workspace,
    title: text(envelope.data, "title"),
    title_source: null,
    profile: text(envelope.data, "profile"),
    profile_name: null,
    created: envelope.time,
    updated: envelope.time,
    active_run: null,
    last_status: null,
  };
}

function changeOf(row: ThreadSummary, { type, data }: Envelope): Partial<ThreadSummary> {
  switch (type) {
    case "thread_renamed":
      return { title: text(data, "title"), title_source: text(data, "source") };
    case "run_paused":
      return { last_status: "waiting" };
    case "run_resumed":
      return { last_status: "working" };
    case "run_requested":
      // One that is queued changes nothing yet.
      return row.active_run === null ? { active_run: text(data, "run_id"), last_status: "working" } : {};
    case "run_started":
      return { active_run: text(data, "run_id"), last_status: "working" };
    case "run_ended":
      return { active_run: null, last_status: lastStatus(text(data, "status")) };
    default:
      return {};
  }
}

function lastStatus(status: string | null): ThreadSummary["last_status"] {
  return status === "failed" || status === "stopped" ? status : "completed";
}

/** Newest first; ids break ties, so the order is the same everywhere. */
export function sortedRows(summaries: Summaries): ThreadSummary[] {
  return Object.values(summaries.rows).sort((a, b) => b.updated.localeCompare(a.updated) || b.id.localeCompare(a.id));
}

import type { Envelope } from "../api/types";
import { moment } from "../log/read";
import { runModel, type RunModel } from "../log/run";
import { selectEvent, selectExecution, type Selection } from "./chain";

/** The run as it stood when an entry was written. */
export interface Moment {
  entries: readonly Envelope[];
  model: RunModel;
  /** The time of the entry; null at the end of what there is. */
  time: number | null;
}

/** @param at Position of the entry; null is the end, and follows a run that works. */
export function momentOf(entries: readonly Envelope[], at: number | null): Moment {
  const last = at === null ? undefined : entries[at - 1];
  if (last === undefined || at === entries.length) return { entries, model: runModel(entries), time: null };
  const before = entries.slice(0, last.position);
  return { entries: before, model: runModel(before), time: moment(last.time) };
}

/** What is selected in the panes by coming to an entry: its event, or the step it is about. */
export function selectionAt(entries: readonly Envelope[], at: number): Selection | null {
  const entry = entries[at - 1];
  if (entry === undefined) return null;
  const model = runModel(entries.slice(0, at));
  if (model.events.some((event) => event.position === at)) return selectEvent(model, at);
  const execution = entry.data.execution;
  if (typeof execution !== "string") return null;
  return { ...selectExecution(model, execution), execution };
}

/** The last position that a run can be forked from: before what led to its stop. Null before it has begun. */
export function lastForkPosition(entries: readonly Envelope[]): number | null {
  const reached = entries.find((entry) => entry.type === "stop_reached");
  const stop = typeof reached?.data.event === "number" ? entries[reached.data.event - 1] : undefined;
  if (stop === undefined) return entries.length < FIRST ? null : entries.length;
  let before = stop.position - 1;
  while (stop.cause != null && before > 0 && isReturnedBy(stop.cause, entries[before - 1])) before -= 1;
  return before < FIRST ? null : before;
}

/** Position of the start event. */
export const FIRST = 2;

function isReturnedBy(execution: string, entry: Envelope | undefined): boolean {
  return entry?.cause === execution && entry.display !== undefined;
}

import type { Envelope, LiveFrame, LiveSnapshot } from "../api/types";
import { addFrame } from "./live";
import { text } from "./read";
import { emptyThread, mergeByPosition, NO_JOURNAL, NO_LIVE, unknownOf, type Journal, type ViewState } from "./state";
import { foldThread } from "./thread";

/** Everything the view is made of arrives as one of these. */
export type Arrival =
  | { kind: "log"; envelopes: readonly Envelope[] }
  | { kind: "entries"; run: string; entries: readonly Envelope[] }
  | { kind: "live"; frame: LiveFrame | LiveSnapshot };

/** The one way from what arrives to what is shown, live and after a reload (S3.2). */
export function reduce(view: ViewState, arrival: Arrival): ViewState {
  switch (arrival.kind) {
    case "log":
      return groupByThread(arrival.envelopes).reduce(addToThread, view);
    case "entries":
      return changeJournal(view, arrival.run, (journal) => addEntries(journal, arrival.entries));
    case "live":
      return changeJournal(view, arrival.frame.run, (journal) => addLive(journal, arrival.frame));
  }
}

export function reduceAll(view: ViewState, arrivals: readonly Arrival[]): ViewState {
  return arrivals.reduce(reduce, view);
}

function groupByThread(envelopes: readonly Envelope[]): [string, Envelope[]][] {
  const groups = new Map<string, Envelope[]>();
  for (const envelope of envelopes) {
    if (envelope.thread == null) continue;
    groups.set(envelope.thread, [...(groups.get(envelope.thread) ?? []), envelope]);
  }
  return [...groups];
}

function addToThread(view: ViewState, [id, envelopes]: [string, Envelope[]]): ViewState {
  const before = view.threads[id] ?? emptyThread(id);
  const after = foldThread(before, envelopes);
  if (after === before) return view;
  const answered = envelopes.filter((one) => one.type === "message_posted").map((one) => text(one.data, "run_id"));
  const runs = answered.filter((run): run is string => run !== null);
  return runs.reduce(closeJournal, { ...view, threads: { ...view.threads, [id]: after } });
}

function closeJournal(view: ViewState, run: string): ViewState {
  return changeJournal(view, run, (journal) => ({ ...journal, live: NO_LIVE, answered: true }));
}

function addEntries(journal: Journal, entries: readonly Envelope[]): Journal {
  const fresh = unknownOf(journal.entries, entries);
  return fresh.length === 0 ? journal : { ...journal, entries: mergeByPosition(journal.entries, fresh) };
}

function addLive(journal: Journal, frame: LiveFrame | LiveSnapshot): Journal {
  if (journal.answered) return journal;
  const live = addFrame(journal.live, frame);
  return live === journal.live ? journal : { ...journal, live };
}

function changeJournal(view: ViewState, run: string, change: (journal: Journal) => Journal): ViewState {
  const before = view.journals[run] ?? NO_JOURNAL;
  const after = change(before);
  return after === before ? view : { ...view, journals: { ...view.journals, [run]: after } };
}

import { describe, expect, it } from "vitest";
import type { Envelope } from "../api/types";
import { journalOf } from "../testing/envelopes";
import { lastForkPosition, momentOf, selectionAt } from "./scrub";

const journal = journalOf("r1");

describe("a moment of a run", () => {
  it("is the run as it stood when the entry was written", () => {
    const { model, entries, time } = momentOf(journal, 6);
    expect(entries).toHaveLength(6);
    expect(model.executions.map((one) => [one.step, one.status])).toEqual([
      ["begin", "done"],
      ["Conversation.gate", "working"],
    ]);
    expect(model.ended).toBeNull();
    expect(time).toBe(Date.parse(journal[5]?.time ?? ""));
  });

  it("of the end is the whole run, and follows what comes", () => {
    expect(momentOf(journal, null)).toMatchObject({ entries: journal, time: null });
    expect(momentOf(journal, journal.length).time).toBeNull();
    expect(momentOf([], 3).entries).toEqual([]);
  });
});

describe("coming to an entry", () => {
  it("selects its event, or the step it is about", () => {
    expect(selectionAt(journal, 4)).toEqual({ execution: "x1", position: 4 });
    expect(selectionAt(journal, 6)).toEqual({ execution: "x2", position: 4 });
    expect(selectionAt(journal, 1)).toBeNull();
    expect(selectionAt(journal, 99)).toBeNull();
  });
});

describe("the last position a run can be forked from", () => {
  const stop = (event: number): Envelope => ({
    position: 10,
    id: "r1.stop",
    type: "stop_reached",
    time: "2026-01-05T09:01:01Z",
    data: { event },
  });
  const withStop = (event: number) => [...journal.slice(0, 9).map(shown), stop(event)];
  const shown = (entry: Envelope): Envelope =>
    /^[A-Z]/.test(entry.type) ? { ...entry, display: false } : entry;

  it("lies before everything that the execution with the stop returned", () => {
    expect(lastForkPosition(withStop(8))).toBe(7);
    const two = withStop(8).map((entry) => (entry.position === 7 ? { ...entry, type: "FollowUps", display: true } : entry));
    expect(lastForkPosition(two)).toBe(6);
  });

  it("is the end of a run that works, and none before it has begun", () => {
    expect(lastForkPosition(journal.slice(0, 6))).toBe(6);
    expect(lastForkPosition(journal.slice(0, 1))).toBeNull();
  });
});

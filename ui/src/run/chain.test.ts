import { describe, expect, it } from "vitest";
import { runModel } from "../log/run";
import { journalOf } from "../testing/envelopes";
import { causesOf, effectsOf, move, NOTHING_SELECTED, selectEvent, selectExecution } from "./chain";
import { statusOf, timelineOf } from "./lanes";

const model = runModel(journalOf("r1"));

describe("the causal chain", () => {
  it("leads from an event to what its step took, and to what came of it", () => {
    expect(causesOf(model, 4)).toEqual([2]);
    expect(effectsOf(model, 4)).toEqual([8]);
    expect(causesOf(model, 2)).toEqual([]);
    expect(effectsOf(model, 8)).toEqual([]);
  });

  it("holds what a step showed without returning it", () => {
    const entries = journalOf("r1").map((one) => ({ ...one, data: { ...one.data, outputs: [] } }));
    expect(effectsOf(runModel(entries), 4)).toEqual([8]);
  });

  it("leads from a request to the answer that came from outside, and back", () => {
    const entries = journalOf("r1").map((one) => (one.position === 8 ? { ...one, data: { asks: "input" } } : one));
    const answer = { id: "a", type: "Answered", time: "2026-01-05T09:02:00Z", run: "r1", data: { answers: 8 } };
    const asked = runModel([...entries, { ...answer, position: 11 }]);
    expect(effectsOf(asked, 8)).toEqual([11]);
    expect(causesOf(asked, 11)).toEqual([8]);
  });

  it("is walked by keys, and stays where it ends", () => {
    const begin = move(model, NOTHING_SELECTED, "effect");
    expect(begin).toEqual({ execution: null, position: 2 });
    const request = move(model, begin, "effect");
    expect(request).toEqual({ execution: "x1", position: 4 });
    expect(move(model, request, "cause")).toEqual(begin);
    expect(move(model, selectEvent(model, 8), "effect")).toEqual({ execution: "x2", position: 8 });
    expect(move(model, request, "after").position).toBe(8);
    expect(move(model, request, "before").position).toBe(2);
  });

  it("shows a step by the last it published, and one that works by what it took", () => {
    expect(selectExecution(model, "x2").position).toBe(8);
    const working = runModel(journalOf("r1").slice(0, 6));
    expect(selectExecution(working, "x2").position).toBe(4);
  });
});

describe("the timeline", () => {
  it("shows how long a step's question waits, and that it does", () => {
    const entries = journalOf("r1").slice(0, 9);
    const asking = entries.map((one) => (one.position === 8 ? { ...one, data: { asks: "confirmation" } } : one));
    const view = timelineOf(runModel(asking), Date.parse("2026-01-05T09:01:10.800Z"), false);
    const lane = view.lanes.find((one) => one.step === "Conversation.gate");
    expect(lane?.status).toBe("waiting");
    expect(lane?.bars[0]?.asks).toMatchObject([{ kind: "person" }]);
    expect(lane?.bars[0]?.asks[0]?.width).toBeCloseTo(93, 0);
  });

  it("has one lane for each step, with bars in the run's time and ticks for events", () => {
    const { lanes, seconds } = timelineOf(model, 0, false);
    expect(seconds).toBeCloseTo(0.9);
    expect(lanes.map((lane) => [lane.step, lane.called, lane.ticks.map((tick) => tick.position)])).toEqual([
      ["begin", false, [4]],
      ["Conversation.gate", true, [8]],
    ]);
    expect(lanes[0]?.bars[0]?.left).toBeCloseTo(22.2, 1);
    expect(lanes[0]?.bars[0]?.width).toBeCloseTo(22.2, 1);
  });

  it("hatches where a step waited for a model", () => {
    const [wait] = timelineOf(model, 0, false).lanes[1]?.bars[0]?.waits ?? [];
    expect(wait?.left).toBeCloseTo(61.1, 1);
    expect(wait?.width).toBeCloseTo(5.6, 1);
  });

  it("grows to the right while the run works", () => {
    const working = runModel(journalOf("r1").slice(0, 6));
    const start = working.opened ?? 0;
    expect(timelineOf(working, start + 4000, false).seconds).toBe(4);
    expect(timelineOf(working, start + 8000, false).lanes[1]?.bars[0]?.width).toBeCloseTo(93.75);
  });

  it("marks at most seven places of its time", () => {
    for (const seconds of [0.05, 0.9, 3, 8, 61, 4000, 1e6]) {
      const { marks } = timelineOf({ ...model, executions: [], opened: 0, ended: seconds * 1000 }, 0, false);
      expect(marks.length).toBeLessThanOrEqual(7);
      expect(marks.every((mark) => mark.left <= 100.01)).toBe(true);
    }
  });

  it("shows of a step that ran often what needs the eye first", () => {
    const [done] = model.executions;
    if (done === undefined) throw new Error("The journal has executions.");
    expect(statusOf([done, { ...done, status: "failed" }])).toBe("failed");
    expect(statusOf([{ ...done, status: "failed" }, { ...done, status: "working" }])).toBe("working");
  });
});

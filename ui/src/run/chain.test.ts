import { describe, expect, it } from "vitest";
import { runModel } from "../log/run";
import { journalOf } from "../testing/envelopes";
import { causesOf, effectsOf, move, NOTHING_SELECTED, selectEvent, selectExecution } from "./chain";
import { statusOf, timelineOf } from "./lanes";

const model = runModel(journalOf("r1"));

describe("the causal chain", () => {
  it("leads from an event to what its step took, and to what came of it", () => {
    expect(causesOf(model, 3)).toEqual([1]);
    expect(effectsOf(model, 3)).toEqual([6, 7]);
    expect(causesOf(model, 1)).toEqual([]);
    expect(effectsOf(model, 7)).toEqual([]);
  });

  it("is walked by keys, and stays where it ends", () => {
    const begin = move(model, NOTHING_SELECTED, "effect");
    expect(begin).toEqual({ execution: null, position: 1 });
    const request = move(model, begin, "effect");
    expect(request).toEqual({ execution: "x1", position: 3 });
    expect(move(model, request, "cause")).toEqual(begin);
    expect(move(model, selectEvent(model, 7), "effect")).toEqual({ execution: "x2", position: 7 });
    expect(move(model, request, "after").position).toBe(6);
    expect(move(model, request, "before").position).toBe(1);
  });

  it("shows a step by the last it published, and one that works by what it took", () => {
    expect(selectExecution(model, "x2").position).toBe(7);
    const working = runModel(journalOf("r1").slice(0, 5));
    expect(selectExecution(working, "x2").position).toBe(3);
  });
});

describe("the timeline", () => {
  it("has one lane for each step, with bars in the run's time and ticks for events", () => {
    const { lanes, seconds } = timelineOf(model, 0, false);
    expect(seconds).toBeCloseTo(0.8);
    expect(lanes.map((lane) => [lane.step, lane.called, lane.ticks.map((tick) => tick.position)])).toEqual([
      ["begin", false, [3]],
      ["Conversation.gate", true, [6, 7]],
    ]);
    expect(lanes[0]?.bars[0]?.left).toBeCloseTo(12.5);
    expect(lanes[0]?.bars[0]?.width).toBeCloseTo(25);
  });

  it("grows to the right while the run works", () => {
    const working = runModel(journalOf("r1").slice(0, 5));
    const start = working.opened ?? 0;
    expect(timelineOf(working, start + 4000, false).seconds).toBe(4);
    expect(timelineOf(working, start + 8000, false).lanes[1]?.bars[0]?.width).toBeCloseTo(95);
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

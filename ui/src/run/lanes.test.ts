import { describe, expect, it } from "vitest";
import { runModel } from "../log/run";
import { journalOf } from "../testing/envelopes";
import { timelineOf } from "./lanes";

const model = runModel(journalOf("r1"));

describe("the marks of a timeline", () => {
  it("are few over the whole run", () => {
    const { marks, seconds } = timelineOf(model, 0, false);
    expect(seconds).toBeCloseTo(0.9);
    expect(marks.map((mark) => mark.seconds)).toEqual([0, 0.2, 0.4, 0.6000000000000001, 0.8]);
  });

  it("are as few in the part that is looked at, and reach a little around it", () => {
    const { marks, seconds } = timelineOf(model, 0, false, model, { zoom: 90, from: 0.5 });
    const seen = marks.filter((mark) => mark.left >= 50 && mark.left <= 50 + 100 / 90);
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.length).toBeLessThan(9);
    expect(marks.length).toBeLessThan(30);
    for (const mark of marks) expect(mark.left).toBeCloseTo((100 * mark.seconds) / seconds);
  });

  it("stop at the run's ends, however close one looks", () => {
    for (const from of [0, 0.999]) {
      const { marks, seconds } = timelineOf(model, 0, false, model, { zoom: 4096, from });
      expect(marks.length).toBeGreaterThan(0);
      expect(marks.every((mark) => mark.seconds >= 0 && mark.seconds <= seconds)).toBe(true);
    }
  });

  it("leave bars their width, and never let one vanish", () => {
    const wide = timelineOf(model, 0, true);
    const near = timelineOf(model, 0, true, model, { zoom: 100, from: 0 });
    for (const [index, lane] of near.lanes.entries()) {
      const width = lane.bars[0]?.width ?? 0;
      expect(width).toBeGreaterThan(0);
      expect(width).toBeLessThanOrEqual(wide.lanes[index]?.bars[0]?.width ?? 0);
    }
  });
});

import { describe, expect, it } from "vitest";
import { runModel } from "../log/run";
import { journalOf } from "../testing/envelopes";
import { pairsOf } from "./comparing";

const NOW = Date.parse("2026-01-05T10:00:00Z");
const first = journalOf("r1");
const model = runModel(first);

describe("two runs side by side", () => {
  it("that are alike differ in nothing", () => {
    const pairs = pairsOf(model, runModel(journalOf("r2")), NOW);
    expect(pairs.map((pair) => pair.step)).toEqual(model.executions.map((one) => one.step));
    expect(pairs.every((pair) => pair.first !== null && pair.second !== null)).toBe(true);
    expect(pairs.flatMap((pair) => pair.differences)).toEqual([]);
  });

  it("differ in the fields of what their steps returned", () => {
    const made = model.executions.find((one) => one.outputs.length > 0);
    const changed = journalOf("r2").map((one) =>
      one.position === made?.outputs[0] ? { ...one, data: { ...one.data, said: "otherwise", run: "r2" } } : one,
    );
    const [pair] = pairsOf(model, runModel(changed), NOW).filter(({ differences }) => differences.length > 0);
    expect(pair?.step).toBe(made?.step);
    expect(pair?.differences).toMatchObject([{ first: null, second: "otherwise" }]);
    expect(pair?.differences[0]?.path).toMatch(/^1 .*\.said$/);
  });

  it("show a step that only one has at its place in that one", () => {
    const steps = model.executions.map((one) => one.step);
    const shorter = { ...model, executions: model.executions.filter((_, place) => place !== 1) };
    expect(pairsOf(shorter, model, NOW).map((pair) => pair.step)).toEqual(steps);
    const [alone] = pairsOf(shorter, model, NOW).filter((pair) => pair.first === null);
    expect(alone?.step).toBe(steps[1]);
    expect(pairsOf(model, shorter, NOW).filter((pair) => pair.second === null)).toHaveLength(1);
  });

  it("are drawn on the time of the longer one", () => {
    const longer = { ...model, ended: (model.opened ?? 0) + 10_000 };
    for (const pair of pairsOf(model, longer, NOW)) {
      for (const side of [pair.first, pair.second]) {
        expect((side?.left ?? 0) + (side?.width ?? 0)).toBeLessThanOrEqual(100);
      }
    }
  });
});

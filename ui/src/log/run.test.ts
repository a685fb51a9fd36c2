import { describe, expect, it } from "vitest";
import type { Envelope } from "../api/types";
import { journalOf } from "../testing/envelopes";
import { isWhole, runModel, stepName } from "./run";

const ENTRIES = journalOf("r1");

/** The first entries, and one more in the next place. */
function upTo(count: number, next: Pick<Envelope, "type" | "data">): Envelope[] {
  const rest = { id: "next", time: "2026-01-05T09:01:30Z", run: "r1", ...next };
  return [...ENTRIES.slice(0, count), { position: count + 1, ...rest }];
}

describe("what a run did", () => {
  const model = runModel(ENTRIES);

  it("is its executions, each with what it took and published", () => {
    expect(model.executions.map(({ step, status, inputs, outputs }) => ({ step, status, inputs, outputs }))).toEqual([
      { step: "begin", status: "done", inputs: [2], outputs: [4] },
      { step: "Conversation.gate", status: "done", inputs: [4], outputs: [8] },
    ]);
  });

  it("begins with the start event and knows who took which", () => {
    expect(model.events.map(({ position, type, from, takenBy }) => ({ position, type, from, takenBy }))).toEqual([
      { position: 2, type: "UserMessageEvent", from: null, takenBy: ["x1"] },
      { position: 4, type: "ContextualizeRequest", from: "x1", takenBy: ["x2"] },
      { position: 8, type: "LLMStopEvent", from: "x2", takenBy: [] },
    ]);
    expect(model.events[0]?.data).toEqual({ locale: "en" });
  });

  it("tells when a step waited for a model", () => {
    expect(model.executions.map((one) => one.waits.map(({ from, to }) => to - from))).toEqual([[], [50]]);
  });

  it("ends as its last entry says", () => {
    expect(model).toMatchObject({ status: "completed", seconds: 0.9, untaken: ["SpareEvent"] });
  });

  it("is read once from the same entries", () => {
    expect(runModel(ENTRIES)).toBe(model);
  });
});

describe("a run that works", () => {
  it("has an execution that did not end", () => {
    const model = runModel(ENTRIES.slice(0, 6));
    expect(model.executions.at(-1)).toMatchObject({ step: "Conversation.gate", status: "working", end: null });
    expect(model.ended).toBeNull();
  });
});

describe("a step that failed", () => {
  const error = { code: "model_unreachable", message: "No answer." };
  const failed = (retry_at: string | null) =>
    upTo(6, { type: "execution_failed", data: { execution: "x2", error, retry_at } });

  it("has its error", () => {
    const execution = runModel(failed(null)).executions.at(-1);
    expect(execution).toMatchObject({ status: "failed", error: { code: "model_unreachable", message: "No answer." } });
  });

  it("works on while a further try is due", () => {
    expect(runModel(failed("2026-01-05T09:02:00Z")).executions.at(-1)).toMatchObject({ status: "working", end: null });
  });
});

describe("a step that still worked when the run ended", () => {
  it("was not needed", () => {
    const entries = upTo(6, { type: "run_ended", data: { status: "stopped" } });
    expect(runModel(entries).executions.at(-1)).toMatchObject({ status: "dropped" });
  });
});

describe("entries", () => {
  it("are whole when none is missing", () => {
    expect(isWhole(ENTRIES)).toBe(true);
    expect(isWhole(ENTRIES.slice(1))).toBe(false);
    expect(isWhole([])).toBe(false);
  });
});

describe("the name of a step", () => {
  it("is told apart from the capability it belongs to", () => {
    expect(stepName({ step: "Conversation.gate", scope: null })).toEqual(["Conversation", "gate"]);
    expect(stepName({ step: "begin", scope: null })).toEqual([null, "begin"]);
  });
});

import { describe, expect, it } from "vitest";
import { LogMaker } from "../testing/envelopes";
import { emptyThread, type ThreadState } from "./state";
import { foldThread } from "./thread";
import { shownPath, turnsOf, workingRun } from "./tree";

const fold = (maker: LogMaker): ThreadState => foldThread(emptyThread("t1"), maker.envelopes);
const ids = (thread: ThreadState, chosen: string | null = null) => shownPath(thread, chosen).map((one) => one.id);

/** u1 -> a1 -> u2 -> a2, and u1b -> a1b beside them. */
function branched(): LogMaker {
  const maker = new LogMaker();
  maker.ask("u1", null, "a1");
  maker.answer("a1", "u1", "one");
  maker.ask("u2", "a1", "a2");
  maker.answer("a2", "u2", "two");
  maker.ask("u1b", null, "a1b");
  maker.answer("a1b", "u1b", "one again");
  return maker;
}

describe("UI-07 a tree of messages", () => {
  it("shows the path to the newest message", () => {
    expect(ids(fold(branched()))).toEqual(["u1b", "a1b"]);
  });

  it("shows the whole of the first branch when the reader goes back to it", () => {
    expect(ids(fold(branched()), "u1")).toEqual(["u1", "a1", "u2", "a2"]);
  });

  it("loses with a retracted message only what hangs on it", () => {
    const maker = branched();
    maker.add("message_retracted", { message_id: "a1b" });
    const thread = fold(maker);
    expect(ids(thread, "u1")).toEqual(["u1", "a1", "u2", "a2"]);
    expect(ids(thread, "u1b")).toEqual(["u1b"]);
    expect(ids(thread)).toEqual(["u1b"]);
  });

  it("goes on in the branch that was written in", () => {
    const maker = branched();
    maker.add("message_retracted", { message_id: "a1b" });
    maker.ask("next", "a2", "a3");
    expect(ids(fold(maker))).toEqual(["u1", "a1", "u2", "a2", "next", "a3"]);
  });

  it("falls back to the newest path when the chosen branch was retracted", () => {
    const maker = branched();
    maker.add("message_retracted", { message_id: "u1b" });
    expect(ids(fold(maker), "a1b")).toEqual(["u1", "a1", "u2", "a2"]);
  });

  it("begins with the oldest message that was read, when its parent was not", () => {
    const thread = foldThread(emptyThread("t1"), branched().envelopes.slice(5, 10));
    expect(ids(thread)).toEqual(["u2", "a2"]);
  });
});

describe("a reply to come", () => {
  it("stands below its question from the request on, and below it what is queued", () => {
    const maker = new LogMaker();
    maker.ask("u1", null, "a1");
    maker.add("message_posted", { message_id: "u2", parent_id: "a1", role: "user", content: "and?" });
    maker.add("run_requested", { run_id: "a2", message_id: "u2", when: "next" });
    const thread = fold(maker);
    expect(ids(thread)).toEqual(["u1", "a1", "u2", "a2"]);
    expect(thread.messages.a1?.posted).toBe(false);
    expect(workingRun(thread)?.id).toBe("a1");
    expect(thread.runs.a2?.status).toBe("queued");
  });

  it("of a question that is answered again takes the place of the first answer", () => {
    const maker = new LogMaker();
    maker.ask("u1", null, "a1");
    maker.answer("a1", "u1", "one");
    maker.add("run_requested", { run_id: "a2", message_id: "u1" });
    expect(ids(fold(maker))).toEqual(["u1", "a2"]);
  });
});

describe("the state of a run", () => {
  it("is what its end says", () => {
    const maker = new LogMaker();
    maker.ask("u1", null, "a1");
    maker.add("stop_requested", { run_id: "a1" });
    expect(fold(maker).runs.a1).toMatchObject({ status: "working", stopping: true });
    maker.answer("a1", "u1", "half", { incomplete: true, status: "stopped" });
    const thread = fold(maker);
    expect(thread.runs.a1).toMatchObject({ status: "stopped", stopping: false, cost: 0.001, seconds: 2, steps: 3 });
    expect(thread.messages.a1).toMatchObject({ incomplete: true, content: "half" });
    expect(workingRun(thread)).toBeNull();
  });
});

describe("turns", () => {
  it("begin with a person's message and hold what answers it", () => {
    const turns = turnsOf(shownPath(fold(branched()), "u1"));
    expect(turns.map((turn) => [turn.question?.id, turn.replies.map((one) => one.id)])).toEqual([
      ["u1", ["a1"]],
      ["u2", ["a2"]],
    ]);
  });

  it("keep an answer whose question was not read", () => {
    const thread = foldThread(emptyThread("t1"), branched().envelopes.slice(3, 5));
    expect(turnsOf(shownPath(thread)).map((turn) => [turn.question, turn.replies.length])).toEqual([[null, 1]]);
  });
});

describe("what is said into a run", () => {
  /** u1 is answered by a1, and s1 and s2 are said into that. */
  function steered(): LogMaker {
    const maker = new LogMaker();
    maker.ask("u1", null, "a1");
    for (const [id, parent, run] of [["s1", "u1", "b1"], ["s2", "s1", "b2"]] as const) {
      maker.add("message_posted", { message_id: id, parent_id: parent, role: "user", content: id });
      maker.add("run_steered", { run_id: "a1", message_id: id, otherwise: { run_id: run, message_id: id } });
    }
    return maker;
  }
  it("stands in the turn, the reply to come below it", () => {
    const thread = fold(steered());
    expect(ids(thread)).toEqual(["u1", "s1", "s2", "a1"]);
    expect(thread.messages.s1?.meanwhile).toBe("coming");
    expect(workingRun(thread)?.id).toBe("a1");
  });

  it("stays there when it is taken", () => {
    const maker = steered();
    maker.add("steering_taken", { run_id: "a1", message_id: "s1" });
    maker.add("steering_taken", { run_id: "a1", message_id: "s2" });
    maker.answer("a1", "s2", "done");
    const thread = fold(maker);
    expect(ids(thread)).toEqual(["u1", "s1", "s2", "a1"]);
    expect([thread.messages.s1?.meanwhile, thread.messages.s2?.meanwhile]).toEqual(["taken", "taken"]);
  });

  it("becomes the next turn when the run has ended without taking it", () => {
    const maker = steered();
    maker.add("steering_taken", { run_id: "a1", message_id: "s1" });
    maker.answer("a1", "s1", "done");
    const end = maker.envelopes.pop();
    maker.add("message_moved", { message_id: "s2", parent_id: "a1" });
    maker.add("run_requested", { run_id: "b2", message_id: "s2", profile: "assistant" });
    maker.add("run_ended", end?.data ?? {});
    const thread = fold(maker);
    expect(ids(thread)).toEqual(["u1", "s1", "a1", "s2", "b2"]);
    expect(thread.messages.s2?.meanwhile).toBeNull();
    expect(workingRun(thread)?.id).toBe("b2");
  });
});

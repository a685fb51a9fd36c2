import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LogMaker } from "../testing/envelopes";
import { answer, ask, requestOf } from "../testing/requests";
import { reduce, reduceAll, type Arrival } from "./reduce";
import { requestsOf, waitsFor } from "./requests";
import { EMPTY_VIEW, type ThreadState, type ViewState } from "./state";
import { shownPath, withQuestions, workingRun } from "./tree";

function threadOf(view: ViewState): ThreadState {
  const thread = view.threads.t1;
  if (thread === undefined) throw new Error("There is no thread.");
  return thread;
}

function read(maker: LogMaker): ThreadState {
  return threadOf(reduce(EMPTY_VIEW, { kind: "log", envelopes: maker.envelopes }));
}

function standing(thread: ThreadState, run = "r1") {
  const facts = thread.runs[run];
  return facts === undefined ? undefined : waitsFor(facts, requestsOf(thread, run));
}

const shown = (thread: ThreadState) => withQuestions(thread, shownPath(thread)).map((one) => one.id);

describe("a run that asks", () => {
  it("waits for the reader, and works again with the answer", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    ask(maker, requestOf("q1"));
    expect(standing(read(maker))).toBe("you");
    expect(workingRun(read(maker))).toMatchObject({ id: "r1", status: "waiting" });

    maker.add("request_answered", { run_id: "r1", request_id: "q1", kind: "input", response: { text: "blue" } });
    expect(standing(read(maker))).toBeNull();
    maker.add("run_resumed", { run_id: "r1" });
    const thread = read(maker);
    expect(thread.runs.r1?.status).toBe("working");
    expect(thread.requests.q1).toMatchObject({
      status: "answered",
      answer: { text: "blue" },
      answered_by: { name: "Anna" },
      may_answer: false,
    });
  });

  it("waits for others, for a time, or for other runs, as it says", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    ask(maker, requestOf("q1", { may_answer: false, recipients: ["ben"] }));
    expect(standing(read(maker))).toBe("others");
    answer(maker, requestOf("q1"), { text: "yes" });
    maker.add("run_paused", { run_id: "r1", requests: [], until: "2026-01-05T18:00:00Z" });
    expect(standing(read(maker))).toBe("time");
    maker.add("run_resumed", { run_id: "r1" });
    maker.add("run_paused", { run_id: "r1", requests: [], until: null });
    expect(standing(read(maker))).toBe("runs");
  });

  it("keeps the first of what closes a request", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    ask(maker, requestOf("q1"));
    maker.add("request_closed", { run_id: "r1", request_id: "q1", reason: "timed_out" });
    maker.add("request_answered", { run_id: "r1", request_id: "q1", kind: "input", response: { text: "late" } });
    expect(read(maker).requests.q1).toMatchObject({ status: "timed_out", answer: null });
  });

  it("that ends unanswered closes it", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    ask(maker, requestOf("q1"));
    maker.add("request_closed", { run_id: "r1", request_id: "q1", reason: "run_ended" });
    maker.answer("r1", "m1", "", { incomplete: true, status: "stopped" });
    expect(read(maker).requests.q1?.status).toBe("closed");
    expect(workingRun(read(maker))).toBeNull();
  });

  it("is not disturbed by facts about requests that were never told", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    const before = read(maker);
    maker.add("request_answered", { run_id: "r1", request_id: "unknown", kind: "input", response: { text: "x" } });
    maker.add("request_opened", { run_id: "r1", request_id: "q9", kind: "input", request: "no request" });
    expect(read(maker).requests).toEqual(before.requests);
  });
});

/** Asks in the conversation: the question is a message. */
function askBack(maker: LogMaker, parent: string): void {
  const request = requestOf("q1", { kind: "chat", question: "How many?" });
  maker.ask("m1", null, "r1");
  ask(maker, request);
  const posted = { message_id: "q1", parent_id: parent, role: "assistant", content: "How many?", run_id: null };
  Object.assign(maker.add("message_posted", { ...posted, request_id: "q1" }), { run: "r1" });
}

describe("a question in the conversation", () => {
  it("stands at the end until the next message answers it; the reply stands below that", () => {
    const maker = new LogMaker();
    askBack(maker, "m1");
    expect(shown(read(maker))).toEqual(["m1", "q1"]);
    expect(read(maker).messages.q1).toMatchObject({ asks: "q1", run: "r1" });

    maker.add("message_posted", { message_id: "m2", parent_id: "q1", role: "user", content: "four", run_id: null });
    answer(maker, requestOf("q1", { kind: "chat" }), { text: "four", message_id: "m2" });
    expect(shown(read(maker))).toEqual(["m1", "q1", "m2", "r1"]);
    maker.answer("r1", "m2", "A table for four.");
    expect(shown(read(maker))).toEqual(["m1", "q1", "m2", "r1"]);
  });

  it("that nobody answered stays above what the run says then", () => {
    const maker = new LogMaker();
    askBack(maker, "m1");
    maker.add("request_closed", { run_id: "r1", request_id: "q1", reason: "timed_out" });
    expect(shown(read(maker))).toEqual(["m1", "q1", "r1"]);
    maker.answer("r1", "m1", "Then not.");
    maker.add("message_posted", { message_id: "m2", parent_id: "r1", role: "user", content: "ok", run_id: null });
    expect(shown(read(maker))).toEqual(["m1", "q1", "r1", "m2"]);
  });
});

describe("S3.2 who reloads while a run waits sees what who stayed sees", () => {
  const maker = new LogMaker();
  askBack(maker, "m1");
  maker.add("message_posted", { message_id: "m2", parent_id: "q1", role: "user", content: "four", run_id: null });
  answer(maker, requestOf("q1", { kind: "chat" }), { text: "four", message_id: "m2" });
  const second = requestOf("q2", { kind: "confirmation", expires: "2026-01-05T18:00:00Z" });
  ask(maker, second);
  maker.add("request_closed", { run_id: "r1", request_id: "q2", reason: "timed_out" });
  maker.add("run_resumed", { run_id: "r1" });
  maker.answer("r1", "m2", "Done.");
  const facts = maker.envelopes.map((one): Arrival => ({ kind: "log", envelopes: [one] }));

  it("at every moment", () => {
    let live = EMPTY_VIEW;
    for (const [at, fact] of facts.entries()) {
      live = reduce(live, fact);
      expect(live).toEqual(reduce(EMPTY_VIEW, { kind: "log", envelopes: maker.envelopes.slice(0, at + 1) }));
    }
  });

  it("in whatever order, and however often, facts arrive", () => {
    const whole = reduceAll(EMPTY_VIEW, facts);
    const shuffled = fc.shuffledSubarray([...facts, ...facts], { minLength: facts.length * 2 });
    const same = fc.property(shuffled, (arrivals) => {
      expect(reduceAll(EMPTY_VIEW, arrivals)).toEqual(whole);
    });
    fc.assert(same);
  });
});

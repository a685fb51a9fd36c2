import { describe, expect, it } from "vitest";
import type { ThreadSummary } from "../api/types";
import { LogMaker } from "../testing/envelopes";
import { addRows, NO_SUMMARIES, sortedRows, touch } from "./summaries";

describe("the rows of the thread list", () => {
  const maker = new LogMaker();
  maker.add("thread_created", { title: null, profile: "assistant" });
  maker.ask("m1", null, "r1");
  const working = maker.envelopes.reduce(touch, NO_SUMMARIES);
  maker.add("thread_renamed", { title: "Greeting", source: "suggested" });
  maker.answer("r1", "m1", "hello");
  const done = maker.envelopes.reduce(touch, NO_SUMMARIES);

  it("say that a run works, and how it ended", () => {
    expect(working.rows.t1).toMatchObject({ last_status: "working", active_run: "r1", title: null });
    expect(done.rows.t1).toMatchObject({ last_status: "completed", active_run: null, title: "Greeting" });
  });

  it("say that a run waits, and that it works again; one that is queued behind it changes nothing", () => {
    const more = new LogMaker();
    more.add("thread_created", { title: null, profile: "assistant" });
    more.ask("m1", null, "r1");
    more.add("run_paused", { run_id: "r1", requests: ["q1"], until: null });
    more.add("run_requested", { run_id: "r2", message_id: "m2" });
    const waiting = more.envelopes.reduce(touch, NO_SUMMARIES);
    expect(waiting.rows.t1).toMatchObject({ last_status: "waiting", active_run: "r1" });
    more.add("run_resumed", { run_id: "r1" });
    expect(more.envelopes.reduce(touch, waiting).rows.t1).toMatchObject({ last_status: "working" });
  });

  it("are not turned back by facts that come twice", () => {
    expect(maker.envelopes.reduce(touch, done)).toBe(done);
  });

  it("stand with the newest first", () => {
    const row = { ...(done.rows.t1 ?? sortedRows(done)[0]), id: "t0", updated: "2020-01-01T00:00:00Z" };
    expect(sortedRows(addRows(done, [row as never])).map((one) => one.id)).toEqual(["t1", "t0"]);
  });

  it("are not turned back by a reading that the log has overtaken", () => {
    const early = { ...working.rows.t1 } as ThreadSummary;
    expect(addRows(done, [early]).rows.t1).toBe(done.rows.t1);
    const late = { ...early, title: "Renamed elsewhere", updated: "2026-01-06T00:00:00.000001Z" };
    expect(addRows(done, [late]).rows.t1).toBe(late);
  });

  it("do not begin with a fact in the middle of a thread that was never listed", () => {
    const [, , , started] = maker.envelopes;
    expect(started && touch(NO_SUMMARIES, started).rows).toEqual({});
  });
});

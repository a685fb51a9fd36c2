import { describe, expect, it } from "vitest";
import { LogMaker } from "../testing/envelopes";
import { answer, ask, requestOf } from "../testing/requests";
import { close, closedRequests, foldInbox, NO_INBOX, sortedInbox, takeInbox, type Inbox } from "./inbox";

const first = requestOf("q1");
const soon = requestOf("q2", { expires: "2026-01-05T12:00:00Z", asked: "2026-01-05T09:30:00Z" });
const later = requestOf("q3", { expires: "2026-01-06T12:00:00Z" });
const ids = (inbox: Inbox) => sortedInbox(inbox).map((one) => one.id);

function told(inbox: Inbox, tell: (maker: LogMaker) => void): Inbox {
  const maker = new LogMaker();
  tell(maker);
  return maker.envelopes.reduce(foldInbox, inbox);
}

describe("the inbox", () => {
  it("has what expires first on top, then what waits longest", () => {
    const newer = requestOf("q0", { asked: "2026-01-05T09:45:00Z" });
    expect(ids(takeInbox(NO_INBOX, NO_INBOX, [newer, first, later, soon]))).toEqual(["q2", "q3", "q1", "q0"]);
  });

  it("takes in what the log tells, and nothing that others are asked", () => {
    const inbox = told(NO_INBOX, (maker) => {
      ask(maker, first);
      ask(maker, requestOf("hers", { may_answer: false }));
    });
    expect(ids(inbox)).toEqual(["q1"]);
  });

  it("lets go what was answered, by whomever, and knows what came of it", () => {
    const inbox = told(takeInbox(NO_INBOX, NO_INBOX, [first, soon]), (maker) => {
      answer(maker, first, { text: "blue" });
      maker.add("request_closed", { run_id: "r1", request_id: "q2", reason: "timed_out" });
    });
    expect(ids(inbox)).toEqual([]);
    expect(closedRequests(inbox).map((one) => one.status)).toEqual(["timed_out", "answered"]);
    expect(inbox.closed.q1).toMatchObject({ answer: { text: "blue" }, answered_by: { name: "Anna" } });
  });

  it("is not turned back by a reading that the log has overtaken", () => {
    const before = takeInbox(NO_INBOX, NO_INBOX, [first]);
    const meanwhile = told(before, (maker) => {
      answer(maker, first, { text: "blue" });
      ask(maker, soon);
    });
    expect(ids(takeInbox(meanwhile, before, [first]))).toEqual(["q2"]);
    expect(ids(takeInbox(meanwhile, meanwhile, []))).toEqual([]);
  });

  it("does not open again what was closed here, and then hears from the log what it was", () => {
    const sent = { ...first, status: "answered" as const, answer: { text: "red" }, closed: "2026-01-05T10:00:00Z" };
    const inbox = close(takeInbox(NO_INBOX, NO_INBOX, [first]), sent);
    const after = told(inbox, (maker) => {
      ask(maker, first);
      answer(maker, first, { text: "red" });
    });
    expect(ids(after)).toEqual([]);
    expect(after.closed.q1).toMatchObject({ answer: { text: "red" }, answered_by: { name: "Anna" } });
    expect(close(after, sent)).toBe(after);
  });

  it("is the same object when nothing changed", () => {
    const inbox = takeInbox(NO_INBOX, NO_INBOX, [first]);
    expect(told(inbox, (maker) => maker.ask("m1", null, "r1"))).toBe(inbox);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Envelope, LiveFrame, LiveSnapshot } from "../api/types";
import { framesOf, journalOf, LogMaker } from "../testing/envelopes";
import { liveText } from "./live";
import { reduce, reduceAll, type Arrival } from "./reduce";
import { EMPTY_VIEW, NO_LIVE, type ViewState } from "./state";
import { shownPath } from "./tree";

const PIECES = ["Hel", "lo ", "🐢, ", "how ", "are ", "you?"];
const TEXT = PIECES.join("");

/** What one tab that never lost its connection received: two turns, the second broken off; text streams in both. */
function recorded(): Arrival[] {
  const maker = new LogMaker();
  const arrivals: Arrival[] = [];
  const take = () => {
    const known = arrivals.filter((one) => one.kind === "log").length;
    for (const envelope of maker.envelopes.slice(known)) arrivals.push({ kind: "log", envelopes: [envelope] });
  };
  maker.add("thread_created", { title: null, profile: "assistant" });
  maker.ask("m1", null, "r1");
  take();
  for (const entry of journalOf("r1")) arrivals.push({ kind: "entries", run: "r1", entries: [entry] });
  for (const frame of framesOf("r1", PIECES)) arrivals.push({ kind: "live", frame });
  maker.add("thread_renamed", { title: "Greeting", source: "suggested" });
  maker.answer("r1", "m1", TEXT, { follow_ups: ["And you?"] });
  maker.ask("m2", "r1", "r2");
  take();
  for (const frame of framesOf("r2", PIECES.slice(0, 3))) arrivals.push({ kind: "live", frame });
  const error = { code: "model_broke_off", message: "The model broke off.", what_to_do: "Ask again." };
  maker.answer("r2", "m2", "Hello 🐢, ", { incomplete: true, status: "failed", error });
  take();
  return arrivals;
}

const SESSION = recorded();
const WHOLE = reduceAll(EMPTY_VIEW, SESSION);

const isLog = (one: Arrival) => one.kind === "log";
const positionOf = (one: Arrival) => (one.kind === "log" ? (one.envelopes[0]?.position ?? 0) : 0);

/** What a server sends a tab that comes back: a snapshot, the log it missed, then all that follows. */
function afterReconnect(seen: readonly Arrival[], rest: readonly Arrival[]): Arrival[] {
  const last = Math.max(0, ...seen.map(positionOf));
  const missed = rest.filter((one) => !isLog(one) || positionOf(one) > last);
  return [...snapshots(seen), ...missed];
}

function snapshots(seen: readonly Arrival[]): Arrival[] {
  const view = reduceAll(EMPTY_VIEW, seen);
  return Object.entries(view.journals)
    .filter(([, journal]) => !journal.answered && journal.live.n > 0)
    .map(([run, { live }]) => ({ kind: "live", frame: snapshotOf(run, live.n, liveText(live)) }));
}

function snapshotOf(run: string, n: number, text: string): LiveSnapshot {
  const parts = [{ part: 0, kind: "text" as const, text, ended: false }];
  return { type: "snapshot", run, n, responses: [{ attempt: 1, response: 1, parts }] };
}

describe("S3.2 live and reload give the same", () => {
  it("when the connection is lost at every event", () => {
    for (let cut = 0; cut <= SESSION.length; cut += 1) {
      const seen = SESSION.slice(0, cut);
      const view = reduceAll(reduceAll(EMPTY_VIEW, seen), afterReconnect(seen, SESSION.slice(cut)));
      expect(view).toEqual(WHOLE);
    }
  });

  it("when frames are lost while nobody is connected", () => {
    for (let cut = 0; cut <= SESSION.length; cut += 1) {
      for (let back = cut; back <= SESSION.length; back += 1) {
        const before = SESSION.slice(0, cut);
        const meanwhile = SESSION.slice(cut, back).filter((one) => one.kind !== "live");
        const now = snapshots(SESSION.slice(0, back));
        const view = reduceAll(EMPTY_VIEW, [...before, ...meanwhile, ...now, ...SESSION.slice(back)]);
        expect(view).toEqual(WHOLE);
      }
    }
  });

  it("when the tab is reloaded at the end and reads the log and the journal only", () => {
    const reloaded = reduceAll(EMPTY_VIEW, SESSION.filter((one) => one.kind !== "live"));
    expect(reloaded).toEqual(WHOLE);
  });

  it("when the log comes in one page", () => {
    const envelopes = SESSION.flatMap((one) => (one.kind === "log" ? one.envelopes : []));
    const others = SESSION.filter((one) => !isLog(one));
    expect(reduceAll(reduce(EMPTY_VIEW, { kind: "log", envelopes }), others)).toEqual(WHOLE);
  });

  it("in whatever order, and however often, facts arrive", () => {
    const facts = SESSION.filter((one) => one.kind !== "live");
    const shuffled = fc.shuffledSubarray([...facts, ...facts, ...facts], { minLength: facts.length * 3 });
    const same = fc.property(shuffled, (arrivals) => {
      expect(reduceAll(EMPTY_VIEW, arrivals)).toEqual(WHOLE);
    });
    fc.assert(same);
  });

  it("when every arrival comes twice", () => {
    expect(reduceAll(EMPTY_VIEW, SESSION.flatMap((one) => [one, one]))).toEqual(WHOLE);
  });

  it("and what is known already changes nothing, not even by identity", () => {
    const facts = SESSION.filter((one) => one.kind !== "live");
    expect(facts.reduce(reduce, WHOLE)).toBe(WHOLE);
  });
});

describe("streamed text", () => {
  const streaming = (frames: readonly (LiveFrame | LiveSnapshot)[]): string => {
    const view = reduceAll(EMPTY_VIEW, frames.map((frame): Arrival => ({ kind: "live", frame })));
    return liveText(view.journals.r1?.live ?? NO_LIVE);
  };

  it("is the pieces in their order, each once", () => {
    const frames = framesOf("r1", PIECES);
    expect(streaming(frames.flatMap((frame) => [frame, frame]))).toBe(TEXT);
  });

  it("goes on from a snapshot, whose text is not doubled by frames that it contains", () => {
    const frames = framesOf("r1", PIECES);
    expect(streaming([...frames.slice(0, 3), snapshotOf("r1", 4, "Hello 🐢, "), ...frames])).toBe(TEXT);
  });

  it("may come joined: the number is that of the last piece", () => {
    const frames = framesOf("r1", PIECES);
    const joined = frames.slice(1, 2).map((frame) => ({ ...frame, text: PIECES.slice(0, 4).join(""), n: 5 }));
    expect(streaming([...frames.slice(0, 1), ...joined, ...frames.slice(1)])).toBe(TEXT);
  });

  it("is whole again after a loss, by the snapshot that follows", () => {
    const frames = framesOf("r1", PIECES);
    const withHole = [...frames.slice(0, 2), ...frames.slice(3, 4), snapshotOf("r1", 4, "Hello 🐢, ")];
    expect(streaming([...withHole, ...frames.slice(4)])).toBe(TEXT);
  });

  it("is superseded by the posted message, and what comes late is not shown", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    maker.answer("r1", "m1", "the durable text");
    const log: Arrival = { kind: "log", envelopes: maker.envelopes };
    const frames = framesOf("r1", PIECES).map((frame): Arrival => ({ kind: "live", frame }));
    const view = reduceAll(EMPTY_VIEW, [...frames.slice(0, 4), log, ...frames.slice(4)]);
    expect(view.journals.r1?.live).toEqual(NO_LIVE);
    expect(view.threads.t1?.messages.r1?.content).toBe("the durable text");
  });

  it("of a second attempt takes the place of the first", () => {
    const first = framesOf("r1", ["wrong"]);
    const second = framesOf("r1", ["right"]).map((frame) => ({ ...frame, attempt: 2, n: frame.n + 2 }));
    expect(streaming([...first, ...second])).toBe("right");
  });

  it("keeps thinking apart from the answer", () => {
    const thought = { run: "r1", attempt: 1, response: 1, part: 1, n: 3, type: "thinking_delta" as const, text: "hm" };
    expect(streaming([...framesOf("r1", ["yes"]), thought])).toBe("yes");
  });
});

describe("UI-05 two conversations at once", () => {
  it("never mix, whichever is looked at while text arrives", () => {
    const numbers = Array.from({ length: 50 }, (_, at) => `${at + 1} `);
    const maker = new LogMaker();
    maker.ask("m1", null, "r1", "count", "t1");
    maker.ask("m2", null, "r2", "hello", "t2");
    let view: ViewState = reduce(EMPTY_VIEW, { kind: "log", envelopes: maker.envelopes });
    const untouched = view.threads.t2;
    for (const [at, frame] of framesOf("r1", numbers).entries()) {
      view = reduce(view, { kind: "live", frame });
      expect(liveText(view.journals.r1?.live ?? NO_LIVE)).toBe(numbers.slice(0, at).join(""));
      expect(view.threads.t2).toBe(untouched);
      expect(view.journals.r2).toBeUndefined();
    }
    maker.answer("r1", "m1", numbers.join(""), {}, "t1");
    view = reduce(view, { kind: "log", envelopes: maker.envelopes });
    expect(view.threads.t1?.messages.r1?.content).toBe(numbers.join(""));
    expect(view.threads.t2).toBe(untouched);
  });
});

describe("UI-09 a server restart between two messages", () => {
  it("leaves one conversation with the answer that was finished meanwhile", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    const before = [...maker.envelopes];
    const partly = framesOf("r1", PIECES).slice(0, 3).map((frame): Arrival => ({ kind: "live", frame }));
    maker.answer("r1", "m1", TEXT);
    maker.ask("m2", "r1", "r2");
    maker.answer("r2", "m2", "second");
    const outage = reduceAll(EMPTY_VIEW, [{ kind: "log", envelopes: before }, ...partly]);
    const missed = maker.envelopes.filter((one) => one.position > before.length);
    const view = reduce(outage, { kind: "log", envelopes: missed });
    const thread = view.threads.t1;
    expect(thread && shownPath(thread).map((one) => one.content)).toEqual(["question m1", TEXT, "question m2", "second"]);
    expect(Object.keys(view.threads)).toEqual(["t1"]);
  });
});

describe("facts of a newer server", () => {
  it("are passed over", () => {
    const maker = new LogMaker();
    maker.ask("m1", null, "r1");
    const known = reduce(EMPTY_VIEW, { kind: "log", envelopes: maker.envelopes });
    maker.add("message_pinned", { message_id: "m1" });
    const after = reduce(known, { kind: "log", envelopes: maker.envelopes });
    expect(after.threads.t1?.messages).toBe(known.threads.t1?.messages);
  });

  it("with fields of another kind than expected do no harm", () => {
    const maker = new LogMaker();
    maker.add("message_posted", { message_id: 7, content: { x: 1 } });
    maker.add("run_ended", { run_id: null });
    maker.add("message_posted", { message_id: "m1", content: 5, follow_ups: "no", error: "text" });
    const view = reduce(EMPTY_VIEW, { kind: "log", envelopes: maker.envelopes });
    expect(view.threads.t1?.messages.m1).toMatchObject({ content: "", followUps: [], error: null });
  });

  it("of the workspace, without a thread, belong to none", () => {
    const envelope: Envelope = { position: 1, id: "e", type: "workspace_created", time: "", thread: null, data: {} };
    expect(reduce(EMPTY_VIEW, { kind: "log", envelopes: [envelope] })).toBe(EMPTY_VIEW);
  });
});

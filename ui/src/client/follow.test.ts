import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeStream, problem } from "../testing/server";
import { follow, retryDelay, type ConnectionState, type Following } from "./follow";

let streams: FakeStream[] = [];
let refuse: Response | null = null;
let following: Following | undefined;

beforeEach(() => {
  vi.useFakeTimers();
  streams = [];
  refuse = null;
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    await Promise.resolve();
    if (refuse !== null) return refuse;
    const stream = new FakeStream(new URL(path, "http://localhost"), init.signal);
    streams.push(stream);
    return stream.response;
  });
});

afterEach(() => following?.close());

function start() {
  const seen: number[] = [];
  const states: ConnectionState[] = [];
  following = follow({
    url: () => `/stream?after=${seen.at(-1) ?? 0}`,
    onEvent: ({ event, id }) => {
      if (event === "end") return "done";
      seen.push(Number(id));
      return undefined;
    },
    onState: (state) => states.push(state),
    random: () => 1,
  });
  return { seen, states };
}

const settle = () => vi.advanceTimersByTimeAsync(0);
const at = (index: number): FakeStream => {
  const stream = streams.at(index);
  if (stream === undefined) throw new Error("No such stream.");
  return stream;
};

describe("SRV-09 a reconnect", () => {
  it("asks for what follows the last event it saw, and gets each once and in order", async () => {
    const { seen } = start();
    await settle();
    for (const id of [1, 2, 3, 4]) at(0).text(`id: ${id}\ndata: x\n\n`);
    await settle();
    at(0).break();
    await vi.advanceTimersByTimeAsync(2000);
    expect(at(1).url.searchParams.get("after")).toBe("4");
    for (const id of [5, 6]) at(1).text(`id: ${id}\ndata: x\n\n`);
    await settle();
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("comes at once when the watched set changes, and leaves one connection", async () => {
    start();
    await settle();
    following?.restart();
    await settle();
    expect(streams.map((stream) => stream.open)).toEqual([false, true]);
  });
});

describe("a lost connection", () => {
  it("is tried again with growing pauses, and told calmly", async () => {
    const { states } = start();
    await settle();
    at(0).break();
    await vi.advanceTimersByTimeAsync(1999);
    expect(streams).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(streams).toHaveLength(2);
    at(1).break();
    await vi.advanceTimersByTimeAsync(3999);
    expect(streams).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(streams).toHaveLength(3);
    expect(states).toEqual(["connecting", "open", "lost", "open", "lost", "open"]);
  });

  it("takes the pause that the server names", async () => {
    start();
    await settle();
    at(0).text("retry: 500\n\n");
    await settle();
    at(0).break();
    await vi.advanceTimersByTimeAsync(500);
    expect(streams).toHaveLength(2);
  });

  it("is noticed when nothing comes for three keep-alives", async () => {
    start();
    await settle();
    await vi.advanceTimersByTimeAsync(44_000);
    at(0).text(": keep-alive\n\n");
    await vi.advanceTimersByTimeAsync(44_000);
    expect(streams).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3000);
    expect(streams).toHaveLength(2);
  });

  it("waits between half and all of a growing time, never longer than thirty seconds", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, chance) => {
        const whole = Math.min(2000 * 2 ** (failures - 1), 30_000);
        const delay = retryDelay(failures, 2000, () => chance);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(whole / 2));
        expect(delay).toBeLessThanOrEqual(whole);
      }),
    );
  });
});

describe("the end of a stream", () => {
  it("is what the server says, not that the connection ended", async () => {
    const { states } = start();
    await settle();
    at(0).text("event: end\ndata: {}\n\n");
    await settle();
    expect(states.at(-1)).toBe("closed");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(streams).toHaveLength(1);
  });

  it("comes to rest when the server refuses, until it is woken", async () => {
    refuse = problem(401, "unauthorized", "No session.");
    const { states } = start();
    await settle();
    expect(states.at(-1)).toBe("refused");
    await vi.advanceTimersByTimeAsync(120_000);
    expect(streams).toHaveLength(0);
    refuse = null;
    following?.restart();
    await settle();
    expect(streams).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import { readEvents, type StreamEvent } from "./sse";

async function parse(pieces: readonly Uint8Array[]): Promise<StreamEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const events: StreamEvent[] = [];
  for await (const event of readEvents(body)) events.push(event);
  return events;
}

const bytes = (text: string) => new TextEncoder().encode(text);

function cut(whole: Uint8Array, ...places: number[]): Uint8Array[] {
  const ends = [0, ...places, whole.length];
  return ends.slice(1).map((end, at) => whole.slice(ends[at], end));
}

describe("SRV-01 an emoji cut by a network chunk", () => {
  const data = `{"choices":[{"delta":{"content":"晴れ 🐢"}}]}`;
  const whole = bytes(`id: 7\nevent: log\ndata: ${data}\n\n`);

  it("is whole wherever the bytes are cut in two", async () => {
    for (let place = 1; place < whole.length; place += 1) {
      expect(await parse(cut(whole, place))).toEqual([{ event: "log", id: "7", data }]);
    }
  });

  it("is whole when it is cut in itself, between the line feeds and in the field's name", async () => {
    const turtle = whole.length - bytes(`🐢"}}]}\n\n`).length;
    const field = bytes("id: 7\nevent: log\nda").length;
    const [event] = await parse(cut(whole, field, turtle + 2, whole.length - 1));
    expect(event?.data).toBe(data);
    expect(event?.data).not.toContain("\uFFFD");
  });

  it("is whole when every byte comes alone", async () => {
    expect(await parse(Array.from(whole, (byte) => Uint8Array.of(byte)))).toHaveLength(1);
  });
});

describe("SRV-03 Unicode line separators inside data", () => {
  it("do not end the line they stand in", async () => {
    const content = "first\u2028second\u2029third\u0085✅";
    const [event, ...others] = await parse([bytes(`data: {"content":"${content}"}\n\n`)]);
    expect(JSON.parse(event?.data ?? "")).toEqual({ content });
    expect(others).toEqual([]);
  });
});

describe("the event stream", () => {
  it("passes over comments and gives an unnamed event the standard name", async () => {
    expect(await parse([bytes(": keep-alive\n\ndata: x\n\n")])).toEqual([{ event: "message", id: null, data: "x" }]);
  });

  it("does not give out an event that was not finished", async () => {
    expect(await parse([bytes("data: half")])).toEqual([]);
  });
});

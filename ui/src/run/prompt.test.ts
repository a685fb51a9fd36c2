import { describe, expect, it } from "vitest";
import { linesOf } from "./prompt";

describe("a prompt as people read it", () => {
  it("has the parts of each message in order, the instructions first", () => {
    const messages = [
      { kind: "request", instructions: "Be brief.", parts: [{ part_kind: "system-prompt", content: "You help." }, { part_kind: "user-prompt", content: "Hi" }] },
      {
        kind: "response",
        parts: [
          { part_kind: "thinking", content: "hm" },
          { part_kind: "text", content: "Hello" },
          { part_kind: "tool-call", tool_name: "look", args: { at: 1 } },
        ],
      },
      { kind: "request", parts: [{ part_kind: "tool-return", tool_name: "look", content: ["a", { b: 1 }] }, { part_kind: "retry-prompt", content: "again" }] },
    ];
    expect(linesOf(messages)).toEqual([
      { role: "system", name: null, text: "Be brief." },
      { role: "system", name: null, text: "You help." },
      { role: "user", name: null, text: "Hi" },
      { role: "thinking", name: null, text: "hm" },
      { role: "model", name: null, text: "Hello" },
      { role: "call", name: "look", text: '{\n  "at": 1\n}' },
      { role: "result", name: "look", text: 'a\n{\n  "b": 1\n}' },
      { role: "retry", name: null, text: "again" },
    ]);
  });

  it("names what is no text", () => {
    const content = ["See:", { kind: "binary", media_type: "image/png", data: "…" }, { kind: "image-url", url: "https://a.example/b.png" }, null];
    expect(linesOf([{ parts: [{ part_kind: "user-prompt", content }] }])).toEqual([
      { role: "user", name: null, text: "See:\n[image/png]\n[https://a.example/b.png]\n" },
    ]);
    expect(linesOf([{ parts: null }, {}])).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import { changesOf, settingsOf, textOf, valueOf } from "./settings";

const SCHEMA = {
  $defs: { Tone: { enum: ["dry", "warm"], type: "string", title: "Tone" }, Box: { type: "object", title: "Box" } },
  properties: {
    llm: {
      anyOf: [{ type: "string" }, { type: "null" }],
      default: null,
      title: "Model",
      description: "Which one.",
      "x-form": { labels: { de: "Modell" }, hints: { de: "Welches." } },
    },
    system_prompt: { type: "string", default: "", title: "System prompt" },
    tokens: { type: "integer", default: 128 },
    heat: { anyOf: [{ type: "number" }, { type: "null" }], default: null },
    condense: { type: "boolean", default: false },
    tone: { $ref: "#/$defs/Tone", default: "dry" },
    box: { $ref: "#/$defs/Box", default: {} },
  },
};

const settings = settingsOf(SCHEMA, "en");
const named = (name: string) => {
  const found = settings.find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

describe("settings of a schema", () => {
  it("know their kind, also where they may be missing or are defined elsewhere", () => {
    const kinds = settings.map(({ name, kind }) => [name, kind]);
    expect(kinds).toEqual([
      ["llm", "text"],
      ["system_prompt", "text"],
      ["tokens", "whole"],
      ["heat", "number"],
      ["condense", "switch"],
      ["tone", "choice"],
      ["box", "json"],
    ]);
    expect(named("tone").choices).toEqual(["dry", "warm"]);
    expect(named("llm")).toMatchObject({ title: "Model", help: "Which one.", initial: null });
  });

  it("of a schema without fields are none", () => {
    expect(settingsOf({}, "en")).toEqual([]);
  });

  it("are named in the reader's language where the form has it", () => {
    expect(settingsOf(SCHEMA, "de")[0]).toMatchObject({ title: "Modell", help: "Welches." });
    expect(settingsOf(SCHEMA, "de")[1]).toMatchObject({ title: "System prompt", help: "" });
  });
});

describe("a field", () => {
  it("says a value, or nothing that could be meant", () => {
    expect(valueOf(named("tokens"), "12")).toBe(12);
    expect(valueOf(named("tokens"), "1.5")).toBeUndefined();
    expect(valueOf(named("heat"), "0.5")).toBe(0.5);
    expect(valueOf(named("heat"), "")).toBeNull();
    expect(valueOf(named("heat"), "warm")).toBeUndefined();
    expect(valueOf(named("condense"), "true")).toBe(true);
    expect(valueOf(named("llm"), "")).toBeNull();
    expect(valueOf(named("system_prompt"), "")).toBe("");
    expect(valueOf(named("box"), '{"a":1}')).toEqual({ a: 1 });
    expect(valueOf(named("box"), "{")).toBeUndefined();
  });

  it("shows what the run had", () => {
    expect(textOf(named("box"), { a: 1 })).toBe('{"a":1}');
    expect(textOf(named("condense"), true)).toBe("true");
    expect(textOf(named("llm"), null)).toBe("");
  });
});

describe("changes", () => {
  it("are what differs from what the run had", () => {
    const had = { system_prompt: "Be kind.", tokens: 64 };
    const texts = { system_prompt: "Be brief.", tokens: "64", condense: "true", llm: "" };
    expect(changesOf(settings, had, texts)).toEqual({ system_prompt: "Be brief.", condense: true });
  });
});

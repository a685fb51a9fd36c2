import { describe, expect, it } from "vitest";
import { bytes, money, span, wholeSeconds } from "./format";

describe("a time span", () => {
  it.each([
    [0.000_38, "0.4 ms"],
    [0.0041, "4.1 ms"],
    [0.02, "0.02 s"],
    [1.14, "1.1 s"],
    [12.4, "12 s"],
    [60, "1 min"],
    [134, "2 min 14 s"],
    [3723, "1 h 2 min"],
  ])("of %d seconds is told as %s", (seconds, words) => {
    expect(span(seconds, "en")).toBe(words);
  });

  it("has the decimal sign of its language", () => {
    expect(span(1.14, "de")).toBe("1,1 s");
  });

  it("counts up in whole seconds, never below none", () => {
    expect(wholeSeconds(3.9, "en")).toBe("3 s");
    expect(wholeSeconds(-2, "en")).toBe("0 s");
  });
});

describe("an amount", () => {
  it("of money keeps three figures", () => {
    expect(money(0.00812, "en")).toBe("$0.00812");
  });

  it("of bytes is told in what people know", () => {
    expect(bytes(1_048_576, "en")).toBe("1 MB");
    expect(bytes(2048, "en")).toBe("2 kB");
  });
});

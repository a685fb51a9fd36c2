import { describe, expect, it } from "vitest";
import { bytes, money, span, untilThen, wholeSeconds } from "./format";

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

describe("the time until then", () => {
  it.each([
    [-1, "in 0 seconds"],
    [44.2, "in 45 seconds"],
    [59.5, "in 1 minute"],
    [299, "in 5 minutes"],
    [3599, "in 59 minutes"],
    [3600, "in 1 hour"],
    [17_990, "in 5 hours"],
    [200_000, "in 2 days"],
  ])("of %d seconds is told as %s", (seconds, words) => {
    expect(untilThen(seconds, "en")).toBe(words);
  });

  it("is told in the reader's language", () => {
    expect(untilThen(300, "de")).toBe("in 5 Minuten");
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

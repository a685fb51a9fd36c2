import { describe, expect, it } from "vitest";
import type { ThreadSummary } from "../api/types";
import { groupByDay } from "./grouping";

const NOW = new Date(2026, 2, 12, 14, 0); // a Thursday

function row(...date: [number, number, number, number]): ThreadSummary {
  return { id: String(date), updated: new Date(...date).toISOString() } as ThreadSummary;
}

function names(...rows: ThreadSummary[]): unknown[] {
  return groupByDay(rows, NOW, "en").map((group) => [group.name, group.rows.length]);
}

describe("threads in the list", () => {
  it("stand under the day they were last written in", () => {
    expect(
      names(row(2026, 2, 12, 13), row(2026, 2, 12, 0), row(2026, 2, 11, 23), row(2026, 2, 10, 9), row(2026, 2, 2, 9)),
    ).toEqual([["today", 2], ["yesterday", 1], ["week", 1], ["month", 1]]);
  });

  it("of other months stand under the month", () => {
    expect(names(row(2026, 1, 27, 9), row(2026, 1, 3, 9), row(2025, 2, 12, 9))).toEqual([
      [{ month: "February 2026" }, 2],
      [{ month: "March 2025" }, 1],
    ]);
  });

  it("that need the reader stand above all, newest first", () => {
    const rows = [row(2026, 2, 12, 13), row(2026, 2, 2, 9), row(2026, 1, 3, 9)];
    const needed = new Set([rows[1]?.id ?? "", rows[2]?.id ?? ""]);
    const groups = groupByDay(rows, NOW, "en", needed);
    expect(groups.map((group) => [group.name, group.rows])).toEqual([
      ["waiting", [rows[1], rows[2]]],
      ["today", [rows[0]]],
    ]);
  });

  it("of a clock that is ahead stand under today", () => {
    expect(names(row(2026, 2, 13, 1))).toEqual([["today", 1]]);
  });
});

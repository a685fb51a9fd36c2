import type { ThreadSummary } from "../api/types";
import { monthAndYear } from "../i18n/format";

export type GroupName = "waiting" | "today" | "yesterday" | "week" | "month" | { month: string };

export interface Group {
  key: string;
  name: GroupName;
  rows: ThreadSummary[];
}

/** Rows, newest first, under the days they were last written in; those that need the reader above all. */
export function groupByDay(
  rows: readonly ThreadSummary[],
  now: Date,
  locale: string,
  needed: ReadonlySet<string> = new Set(),
): Group[] {
  const waiting = rows.filter((row) => needed.has(row.id));
  const groups: Group[] = waiting.length === 0 ? [] : [{ key: "waiting", name: "waiting", rows: waiting }];
  for (const row of rows) {
    if (needed.has(row.id)) continue;
    const name = groupOf(new Date(row.updated), now, locale);
    const key = typeof name === "string" ? name : name.month;
    const last = groups.at(-1);
    if (last?.key === key) last.rows.push(row);
    else groups.push({ key, name, rows: [row] });
  }
  return groups;
}

function groupOf(day: Date, now: Date, locale: string): GroupName {
  const age = daysBetween(day, now);
  if (age <= 0) return "today";
  if (age === 1) return "yesterday";
  // The week begins on Monday.
  if (age <= (now.getDay() + 6) % 7) return "week";
  const sameMonth = day.getMonth() === now.getMonth() && day.getFullYear() === now.getFullYear();
  return sameMonth ? "month" : { month: monthAndYear(day.toISOString(), locale) };
}

function daysBetween(day: Date, now: Date): number {
  const midnight = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  return Math.round((midnight(now) - midnight(day)) / 86_400_000);
}

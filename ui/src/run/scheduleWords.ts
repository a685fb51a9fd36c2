import type { TFunction } from "i18next";
import { list, wallClock, weekday, weekdayAndClock } from "../i18n/format";

/** As many times of a day are told one by one. */
const MOST_TIMES = 4;
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

interface Told {
  cron: string;
  zone: string;
}

/** "Every weekday at 07:00, Zurich time". What is rarer than that is told as the expression. */
export function scheduleWords({ cron, zone }: Told, t: TFunction, locale: string): string {
  const rule = everySoOften(cron, t) ?? onSomeDays(cron, t, locale) ?? t("schedules.expression", { cron });
  return zone === "UTC" ? t("schedules.inUtc", { rule }) : t("schedules.inZone", { rule, city: cityOf(zone) });
}

/** "Tue 2 Dec, 07:00", by the clocks of the schedule. */
export function momentWords(time: string, zone: string, locale: string): string {
  return weekdayAndClock(time, locale, zone);
}

function cityOf(zone: string): string {
  return (zone.split("/").at(-1) ?? zone).replaceAll("_", " ");
}

function everySoOften(cron: string, t: TFunction): string | null {
  const [minute = "", hour = "", ...days] = cron.split(" ");
  if (days.join(" ") !== "* * *") return null;
  const minutes = step(minute, 60);
  if (minutes !== null && hour === "*") return t("schedules.everyMinutes", { count: minutes });
  if (/^\d+$/.test(minute) && hour === "*") return t("schedules.everyHour", { minute: Number(minute) });
  const hours = step(hour, 24);
  return minute === "0" && hours !== null ? t("schedules.everyHours", { count: hours }) : null;
}

/** The n of a step where n divides what it steps over, so that the steps are as far apart across its end. */
function step(field: string, over: number): number | null {
  const found = /^\*\/(\d+)$/.exec(field);
  const every = Number(found?.[1] ?? 0);
  return every > 1 && over % every === 0 ? every : null;
}

function onSomeDays(cron: string, t: TFunction, locale: string): string | null {
  const [minute = "", hour = "", day = "", month = "", weekdays = ""] = cron.toUpperCase().split(" ");
  const minutes = numbers(minute);
  const hours = numbers(hour);
  if (minutes === null || hours === null || minutes.length * hours.length > MOST_TIMES || month !== "*") return null;
  const times = list(
    hours.flatMap((one) => minutes.map((each) => wallClock(one, each, locale))),
    locale,
  );
  if (day === "*" && weekdays === "*") return t("schedules.daily", { times });
  if (day === "L" && weekdays === "*") return t("schedules.lastOfMonth", { times });
  if (/^\d+$/.test(day) && weekdays === "*") return t("schedules.monthly", { day: Number(day), times });
  const chosen = day === "*" ? daysOfWeek(weekdays) : null;
  if (chosen === null) return null;
  if (chosen.join() === "1,2,3,4,5") return t("schedules.weekdays", { times });
  return t("schedules.weekly", { days: list(chosen.map((one) => weekday(one, locale)), locale), times });
}

function numbers(field: string): number[] | null {
  const parts = field.split(",");
  return parts.every((part) => /^\d+$/.test(part)) ? parts.map(Number).sort((a, b) => a - b) : null;
}

/** Days of the week from Monday as 1 to Sunday as 7. */
function daysOfWeek(field: string): number[] | null {
  const days = new Set<number>();
  for (const part of field.split(",")) {
    const [from, to = from] = part.split("-").map(dayOfWeek);
    if (from == null || to == null || part.split("-").length > 2) return null;
    for (let day = from; day <= (to < from ? 7 : to); day += 1) days.add(day === 0 ? 7 : day);
  }
  return [...days].sort((a, b) => a - b);
}

function dayOfWeek(word: string): number | null {
  if (/^[0-7]$/.test(word)) return Number(word);
  const named = WEEKDAYS.indexOf(word);
  return named < 0 ? null : named;
}

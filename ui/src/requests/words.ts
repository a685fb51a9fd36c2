import type { TFunction } from "i18next";
import type { PersonRequest } from "../api/types";
import { Refused } from "../client/http";
import { clock, count, dayOfMonth, sameDay, untilThen } from "../i18n/format";
import { explain } from "../parts/explain";

/** As many characters as the server takes in an answer. */
export const MAX_CHARACTERS = 100_000;

/** "expires in 5 minutes"; null if it does not expire. */
export function expiry(request: PersonRequest, now: number, t: TFunction, locale: string): string | null {
  if (request.expires === null) return null;
  const seconds = (Date.parse(request.expires) - now) / 1000;
  return seconds <= 0 ? t("request.timeUp") : t("request.expires", { when: untilThen(seconds, locale) });
}

/** The words before and after the name of who asks, in the order of the language. */
export function askedBy(asker: string | null, t: TFunction): [string, string, string] {
  const name = asker ?? t("request.anAgent");
  const [before = "", after = ""] = t("request.asks", { name: "\u0001" }).split("\u0001");
  return [before, name, after];
}

/** Whom else it is put to, where it is put to somebody by name. */
export function recipients(request: PersonRequest, me: string | undefined, t: TFunction): string | null {
  const others = request.recipients.filter((one) => one !== me).length;
  if (others === request.recipients.length) return null;
  return others === 0 ? t("request.onlyYou") : t("request.youAndOthers", { count: others });
}

/** What came of it: who said what. */
export function outcome(request: PersonRequest, me: string | undefined, t: TFunction): string {
  if (request.status === "timed_out") return t("request.timedOut");
  if (request.status === "closed") return t("request.ended");
  const { answer, answered_by: by } = request;
  if (answer === null) return t("request.answered");
  const mine = by?.id !== undefined && by.id === me;
  const name = by?.name ?? t("request.somebody");
  if (request.kind === "confirmation") {
    const yes = answer.confirmed === true;
    const said = mine
      ? t(yes ? "request.youConfirmed" : "request.youDeclined")
      : t(yes ? "request.theyConfirmed" : "request.theyDeclined", { name });
    const reason = typeof answer.reason === "string" ? answer.reason.trim() : "";
    return reason === "" ? said : t("request.withReason", { said, reason });
  }
  const given = typeof answer.text === "string" ? answer.text : "";
  const words = request.choices.find((choice) => choice.value === given)?.label ?? given;
  return mine ? t("request.youAnswered", { answer: words }) : t("request.theyAnswered", { name, answer: words });
}

/** "13:20" today, else the day. */
export function when(time: string, now: number, locale: string): string {
  return sameDay(Date.parse(time), now) ? clock(time, locale) : dayOfMonth(time, locale);
}

const LATE = {
  request_answered: "request.lateAnswered",
  request_timed_out: "request.lateTime",
  request_closed: "request.lateEnd",
} as const;

export function lateWords(code: string, t: TFunction): string | null {
  const key = LATE[code as keyof typeof LATE] as (typeof LATE)[keyof typeof LATE] | undefined;
  return key === undefined ? null : t(key);
}

/** Why an answer was not taken, and whether to try the same again makes sense. */
export function refusal(error: unknown, t: TFunction, locale: string): { words: string; again: boolean } {
  if (!(error instanceof Refused)) return { words: explain(error, t, locale), again: true };
  const late = lateWords(error.problem.code, t);
  if (late !== null) return { words: late, again: false };
  if (error.status === 403) return { words: t("request.forbidden"), again: false };
  if (error.status === 404) return { words: t("request.missing"), again: false };
  if (error.problem.code === "answer_invalid") return { words: t("request.invalid"), again: false };
  return { words: explain(error, t, locale), again: true };
}

export function tooLong(t: TFunction, locale: string): string {
  return t("request.tooLong", { count: count(MAX_CHARACTERS, locale) });
}

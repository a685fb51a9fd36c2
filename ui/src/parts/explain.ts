import type { TFunction } from "i18next";
import type { Failure } from "../api/types";
import { Refused } from "../client/http";
import { bytes } from "../i18n/format";

/** The person's text is larger than the server takes. */
export class TooLarge extends Error {
  constructor(readonly limit: number) {
    super("The message is too long.");
    this.name = "TooLarge";
  }
}

/** There is no profile that the person may ask. */
export class NoAgent extends Error {
  constructor() {
    super("There is no agent to ask.");
    this.name = "NoAgent";
  }
}

/** What happened and what to do now, in one or two short sentences. */
export function explain(error: unknown, t: TFunction, locale: string, limit?: number): string {
  if (error instanceof TooLarge) return t("error.tooLarge", { limit: bytes(error.limit, locale) });
  if (error instanceof NoAgent) return `${t("home.noProfiles")} ${t("home.noProfilesHint")}`;
  if (!(error instanceof Refused)) return navigator.onLine ? t("error.unreachable") : t("error.offline");
  const { problem } = error;
  if (problem.status === 401) return t("error.signedOut");
  if (problem.status === 413 && limit !== undefined) return t("error.tooLarge", { limit: bytes(limit, locale) });
  const said = [problem.detail, problem.what_to_do].filter((one) => one != null && one !== "").join(" ");
  return said === "" ? t("error.unknown", { code: problem.code }) : said;
}

const CAUSES = [
  "model_unreachable",
  "model_refused",
  "model_rate_limited",
  "model_broke_off",
  "model_empty",
  "model_context_exceeded",
] as const;

/** Why an answer is not whole: in the reader's language where the cause is known. The run view has the details. */
export function cause(failure: Failure | null, t: TFunction): string {
  const known = CAUSES.find((code) => code === failure?.code);
  if (known !== undefined) return t(`cause.${known}`);
  return [failure?.message, failure?.what_to_do].filter((one) => one != null && one !== "").join(" ");
}

import i18next from "i18next";
import { beforeAll, describe, expect, it } from "vitest";
import { loadLaterTexts, LOCALES, switchLocale } from "../i18n";
import { scheduleWords } from "./scheduleWords";

const words = (cron: string, zone = "Europe/Zurich", locale = "en") =>
  scheduleWords({ cron, zone }, i18next.getFixedT(locale), locale).replaceAll(/\u202f|\u00a0/g, " ");

beforeAll(async () => {
  await loadLaterTexts();
  for (const locale of LOCALES) await switchLocale(locale);
  await switchLocale("en");
});

describe("a schedule in words", () => {
  it.each([
    ["0 7 * * MON-FRI", "Every weekday at 07:00 AM, Zurich time"],
    ["0 7 * * 1-5", "Every weekday at 07:00 AM, Zurich time"],
    ["30 7,19 * * *", "Every day at 07:30 AM and 07:30 PM, Zurich time"],
    ["0 8 * * MON,thu", "Every Monday and Thursday at 08:00 AM, Zurich time"],
    ["0 8 * * 0", "Every Sunday at 08:00 AM, Zurich time"],
    ["0 8 * * SAT-SUN", "Every Saturday and Sunday at 08:00 AM, Zurich time"],
    ["0 6 1 * *", "On day 1 of every month at 06:00 AM, Zurich time"],
    ["0 6 L * *", "On the last day of every month at 06:00 AM, Zurich time"],
    ["*/15 * * * *", "Every 15 minutes, Zurich time"],
    ["0 * * * *", "Every hour, Zurich time"],
    ["5 * * * *", "Every hour, at minute 5, Zurich time"],
    ["0 */6 * * *", "Every 6 hours, Zurich time"],
  ])("%s", (cron, told) => {
    expect(words(cron)).toBe(told);
  });

  it.each(["*/7 * * * *", "0 7 1 1 *", "0 7 * * MON#1", "0,10,20,30,40 7 * * *", "*/5 9-17 * * *", "0 7 1 * MON"])(
    "%s is told as it is written",
    (cron) => {
      expect(words(cron)).toBe(`By the expression ${cron}, Zurich time`);
    },
  );

  it("names the zone by its city, and UTC by itself", () => {
    expect(words("0 * * * *", "America/New_York")).toBe("Every hour, New York time");
    expect(words("0 * * * *", "UTC")).toBe("Every hour, UTC");
  });

  it("is told in every language", () => {
    expect(words("0 7 * * MON,THU", "Europe/Zurich", "de")).toBe("Jeden Montag und Donnerstag um 07:00, Zeit von Zurich");
    expect(words("0 7 * * MON-FRI", "UTC", "fr")).toBe("Chaque jour ouvrable à 07:00, UTC");
    expect(words("0 7 * * *", "UTC", "it")).toBe("Ogni giorno alle 07:00, UTC");
  });
});

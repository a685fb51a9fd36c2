import i18next from "i18next";
import ICU from "i18next-icu";
import { initReactI18next } from "react-i18next";
import type { ServerText } from "../api/types";
import type en from "../locales/en.json";
import type later from "../locales/later/later-en.json";

export const LOCALES = ["en", "de", "fr", "it"] as const;
export type Locale = (typeof LOCALES)[number];

/** Each language under its own name. */
export const LANGUAGE_NAMES: Record<Locale, string> = {
  en: "English",
  de: "Deutsch",
  fr: "Français",
  it: "Italiano",
};

const texts = import.meta.glob<{ default: typeof en }>("../locales/*.json");
/** Of screens that come when they are wanted. */
const laterTexts = import.meta.glob<{ default: typeof later }>("../locales/later/*.json");

export function isLocale(value: string | null | undefined): value is Locale {
  return (LOCALES as readonly (string | null | undefined)[]).includes(value);
}

/** The first language of the person's browser that is ours. */
export function browserLocale(languages: readonly string[] = navigator.languages): Locale {
  const known = languages.map((language) => language.split("-")[0]).find((language) => isLocale(language));
  return isLocale(known) ? known : "en";
}

export async function startTexts(locale: Locale): Promise<void> {
  await i18next
    .use(ICU)
    .use(initReactI18next)
    .init({ lng: locale, fallbackLng: false, resources: {}, interpolation: { escapeValue: false } });
  await switchLocale(locale);
}

/** Loads a language when it is first wanted, then switches to it. */
export async function switchLocale(locale: Locale): Promise<void> {
  if (!i18next.hasResourceBundle(locale, "translation")) {
    const load = texts[`../locales/${locale}.json`];
    if (load === undefined) return;
    i18next.addResourceBundle(locale, "translation", (await load()).default);
  }
  if (wantsLater) await addLater(locale);
  await i18next.changeLanguage(locale);
  document.documentElement.lang = locale;
}

let wantsLater = false;

/** Loads the texts of later screens, now and in every language that is switched to. */
export async function loadLaterTexts(): Promise<void> {
  wantsLater = true;
  if (isLocale(i18next.language)) await addLater(i18next.language);
}

async function addLater(locale: Locale): Promise<void> {
  const load = laterTexts[`../locales/later/later-${locale}.json`];
  if (load !== undefined) i18next.addResourceBundle(locale, "translation", (await load()).default, true, true);
}

/** A text of the server in the reader's language. */
export function serverText(value: ServerText | null | undefined, locale: string): string | null {
  if (value == null) return null;
  if (typeof value === "string") return value;
  return value[locale] ?? value.en ?? Object.values(value)[0] ?? null;
}

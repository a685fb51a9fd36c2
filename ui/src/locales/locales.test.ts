import { IntlMessageFormat } from "intl-messageformat";
import { describe, expect, it } from "vitest";
import { browserLocale, LOCALES, serverText } from "../i18n";
import de from "./de.json";
import en from "./en.json";
import fr from "./fr.json";
import it_ from "./it.json";
import laterDe from "./later/later-de.json";
import laterEn from "./later/later-en.json";
import laterFr from "./later/later-fr.json";
import laterIt from "./later/later-it.json";

interface Tree {
  [key: string]: string | Tree;
}

function flat(tree: Tree, prefix = ""): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === "string") all[prefix + key] = value;
    else Object.assign(all, flat(value, `${prefix}${key}.`));
  }
  return all;
}

const TEXTS: Record<string, Record<string, string>> = {
  en: flat({ ...en, ...laterEn }),
  de: flat({ ...de, ...laterDe }),
  fr: flat({ ...fr, ...laterFr }),
  it: flat({ ...it_, ...laterIt }),
};
/** The values a text takes; the words of its plural forms, which are in braces too, are not among them. */
function names(text: string): string[] {
  const values = [...text.matchAll(/\{(\w+)\s*(?:\}|,)/g)].map((match) => match[1] ?? "");
  const forms = [...text.matchAll(/(?<!\w)(?:=\d+|zero|one|two|few|many|other)\s*\{(\w+)\}/g)].map((match) => match[1]);
  return values.filter((value) => !forms.includes(value)).sort();
}

describe.each(LOCALES.filter((locale) => locale !== "en"))("the texts in %s", (locale) => {
  it("are for the same keys, in the same order", () => {
    expect(Object.keys(TEXTS[locale] ?? {})).toEqual(Object.keys(TEXTS.en ?? {}));
  });

  it("name the same values", () => {
    for (const [key, text] of Object.entries(TEXTS[locale] ?? {})) {
      expect([key, [...new Set(names(text))]]).toEqual([key, [...new Set(names(TEXTS.en?.[key] ?? ""))]]);
    }
  });
});

describe.each(LOCALES)("every text in %s", (locale) => {
  it("is there and can be read as an ICU message", () => {
    for (const [key, text] of Object.entries(TEXTS[locale] ?? {})) {
      expect(text.trim(), key).not.toBe("");
      expect(() => new IntlMessageFormat(text, locale), key).not.toThrow();
    }
  });
});

describe("the language", () => {
  it("is the first of the browser's that is ours, else English", () => {
    expect(browserLocale(["pt-BR", "it-CH", "de"])).toBe("it");
    expect(browserLocale(["ja"])).toBe("en");
  });

  it("of a server's text is the reader's, else English, else what there is", () => {
    expect(serverText({ en: "a", de: "b" }, "de")).toBe("b");
    expect(serverText({ en: "a" }, "fr")).toBe("a");
    expect(serverText({ it: "c" }, "fr")).toBe("c");
    expect(serverText("plain", "fr")).toBe("plain");
    expect(serverText(null, "fr")).toBeNull();
  });
});

import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

export interface Texts {
  t: TFunction;
  locale: string;
}

export function useTexts(): Texts {
  const { t, i18n } = useTranslation();
  return { t, locale: i18n.language };
}

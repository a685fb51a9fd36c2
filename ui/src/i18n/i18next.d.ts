import "i18next";
import type en from "../locales/en.json";
import type later from "../locales/later/later-en.json";

declare module "i18next" {
  interface CustomTypeOptions {
    resources: { translation: typeof en & typeof later };
    returnNull: false;
  }
}

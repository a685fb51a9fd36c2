import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { browserLocale, isLocale, startTexts } from "./i18n";
import { applyTheme, usePreferences } from "./store/preferences";
import "./styles/index.css";

const { theme, locale } = usePreferences.getState();
applyTheme(theme);

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element #root: index.html and main.tsx belong together.");

await startTexts(isLocale(locale) ? locale : browserLocale());
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

import { create } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark";

interface Preferences {
  theme: Theme;
  listFolded: boolean;
  /** The profile that was asked last: the home screen offers it again. */
  lastProfile: string | null;
  locale: string | null;
  change: (change: Partial<Omit<Preferences, "change">>) => void;
}

export const usePreferences = create<Preferences>()(
  persist(
    (set) => ({
      theme: "system",
      listFolded: false,
      lastProfile: null,
      locale: null,
      change: (change) => set(change),
    }),
    { name: "planwerk.preferences", partialize: ({ theme, listFolded, lastProfile, locale }) => ({ theme, listFolded, lastProfile, locale }) },
  ),
);

/** Sets the theme where tokens.css looks for it; "system" leaves it to the browser. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

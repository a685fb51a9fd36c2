import { create } from "zustand";
import { persist } from "zustand/middleware";

/** So many a person keeps. */
export const MOST_VIEWS = 20;

/** Filters of the list of runs under a name: `query` is the address's, sorted. */
export interface SavedView {
  name: string;
  query: string;
}

interface SavedViews {
  /** By account: who shares a browser shares no views. */
  views: Readonly<Record<string, readonly SavedView[]>>;
  keep: (account: string, view: SavedView) => void;
  rename: (account: string, query: string, name: string) => void;
  drop: (account: string, query: string) => void;
}

export const useSavedViews = create<SavedViews>()(
  persist(
    (set) => {
      const change = (account: string, to: (views: readonly SavedView[]) => readonly SavedView[]) =>
        set(({ views }) => ({ views: { ...views, [account]: to(views[account] ?? []) } }));
      return {
        views: {},
        keep: (account, view) =>
          change(account, (views) => [...views.filter((one) => one.query !== view.query), view].slice(0, MOST_VIEWS)),
        rename: (account, query, name) =>
          change(account, (views) => views.map((one) => (one.query === query ? { name, query } : one))),
        drop: (account, query) => change(account, (views) => views.filter((one) => one.query !== query)),
      };
    },
    { name: "planwerk.views", partialize: ({ views }) => ({ views }) },
  ),
);

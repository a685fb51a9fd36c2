import { useState } from "react";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { MOST_VIEWS, useSavedViews, type SavedView } from "../store/savedViews";
import { useSession } from "../store/session";

const FILTERS = ["status", "profile", "thread", "scheduled"];
const NONE: readonly SavedView[] = [];

/** The filters of the address, in one order; empty where there are none. */
export function filtersOf(query: URLSearchParams): string {
  const kept = FILTERS.flatMap((name) => {
    const value = query.get(name) ?? "";
    return value === "" ? [] : [[name, value]];
  });
  return new URLSearchParams(kept).toString();
}

interface SavedViewsProps {
  /** The filters that are shown, as `filtersOf` gives them. */
  query: string;
  onOpen: (query: string) => void;
}

/** Filters that the person has named: one is opened, kept, called otherwise and forgotten here. */
export function SavedViews({ query, onOpen }: SavedViewsProps) {
  const { t } = useTexts();
  const account = useSession((state) => state.session?.account.id) ?? "";
  const views = useSavedViews((state) => state.views[account]) ?? NONE;
  const { keep, rename, drop } = useSavedViews.getState();
  const [naming, setNaming] = useState<"new" | "old" | null>(null);
  const shown = views.find((one) => one.query === query);
  const full = views.length >= MOST_VIEWS;
  if (naming !== null) {
    const save = (name: string) => {
      if (naming === "old") rename(account, query, name);
      else keep(account, { name, query });
      setNaming(null);
    };
    return <Naming name={shown?.name ?? ""} onSave={save} onLeave={() => setNaming(null)} />;
  }
  if (views.length === 0 && query === "") return null;
  return (
    <div className="saved-views" role="group" aria-label={t("runs.savedViews")}>
      {views.map((view) => (
        <button
          key={view.query}
          type="button"
          className="button quiet"
          aria-pressed={view.query === query}
          onClick={() => onOpen(view.query === query ? "" : view.query)}
        >
          {view.name}
        </button>
      ))}
      {shown !== undefined && (
        <>
          <Small icon="pencil" label={t("runs.renameView", { name: shown.name })} onClick={() => setNaming("old")} />
          <Small icon="x" label={t("runs.dropView", { name: shown.name })} onClick={() => drop(account, query)} />
        </>
      )}
      {shown === undefined && query !== "" && (
        <button
          type="button"
          className="button quiet"
          aria-disabled={full}
          title={full ? t("runs.viewsFull", { count: MOST_VIEWS }) : undefined}
          onClick={() => full || setNaming("new")}
        >
          <Icon name="plus" />
          {t("runs.keepView")}
        </button>
      )}
    </div>
  );
}

function Small({ icon, label, onClick }: { icon: "pencil" | "x"; label: string; onClick: () => void }) {
  return (
    <button type="button" className="icon-button s" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

interface NamingProps {
  name: string;
  onSave: (name: string) => void;
  onLeave: () => void;
}

/** Enter keeps the name, Escape leaves it. */
function Naming({ name, onSave, onLeave }: NamingProps) {
  const { t } = useTexts();
  const [draft, setDraft] = useState(name);
  const given = draft.trim();
  return (
    <form
      className="saved-views"
      onSubmit={(event) => {
        event.preventDefault();
        if (given !== "") onSave(given);
      }}
    >
      <input
        className="field"
        aria-label={t("runs.viewName")}
        placeholder={t("runs.viewName")}
        value={draft}
        maxLength={60}
        ref={(input) => input?.focus()}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onLeave();
        }}
      />
      <button type="submit" className="button" aria-disabled={given === ""}>
        {t("runs.saveView")}
      </button>
      <button type="button" className="button quiet" onClick={onLeave}>
        {t("runs.leaveView")}
      </button>
    </form>
  );
}

import { useEffect, useRef } from "react";
import { Link } from "react-router";
import { isLocale, LANGUAGE_NAMES, LOCALES, switchLocale, type Locale } from "../i18n";
import { Choice } from "../parts/Choice";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { usePreferences, type Theme } from "../store/preferences";
import { useSession } from "../store/session";

/** The account at the foot of the rail: language, appearance, sign out. */
export function Account({ onClose }: { onClose: () => void }) {
  const { t, locale } = useTexts();
  const sheet = useRef<HTMLDivElement>(null);
  const { session, info, changeLocale, signOut } = useSession();
  const { theme, change } = usePreferences();
  useDismiss(sheet, onClose);

  const choose = (next: Locale) => {
    change({ locale: next });
    void switchLocale(next);
    void changeLocale(next).catch(() => undefined);
  };
  const themes: { value: Theme; label: string }[] = [
    { value: "system", label: t("account.system") },
    { value: "light", label: t("account.light") },
    { value: "dark", label: t("account.dark") },
  ];
  return (
    <div className="float account" role="dialog" aria-label={t("nav.account")} ref={sheet} tabIndex={-1}>
      <div className="person">
        <span>
          <b>{session?.account.name}</b>
          <span className="small faint">{session?.account.login}</span>
        </span>
      </div>
      <div>
        <span className="legend-text">{t("account.language")}</span>
        <Choice
          label={t("account.language")}
          kind="radio"
          options={LOCALES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
          value={isLocale(locale) ? locale : "en"}
          onChange={choose}
        />
      </div>
      <div>
        <span className="legend-text">{t("account.theme")}</span>
        <Choice
          label={t("account.theme")}
          kind="radio"
          options={themes}
          value={theme}
          onChange={(value) => change({ theme: value })}
        />
      </div>
      <div className="narrow-only">
        <Link className="button quiet to-memory" to="/knowledge" onClick={onClose}>
          <Icon name="book" />
          {t("nav.knowledge")}
        </Link>
      </div>
      <div>
        <Link className="button quiet to-memory" to="/settings/memory" onClick={onClose}>
          <Icon name="memory" />
          {t("nav.memory")}
        </Link>
      </div>
      <footer>
        <button type="button" className="button" onClick={() => void signOut()}>
          {t("account.signOut")}
        </button>
        <span className="small faint">{t("account.version", { version: info?.version ?? "" })}</span>
      </footer>
    </div>
  );
}

/** Escape, or a click elsewhere, closes; the focus goes in, and back to where it was. */
function useDismiss(sheet: React.RefObject<HTMLDivElement | null>, onClose: () => void): void {
  const close = useRef(onClose);
  useEffect(() => {
    close.current = onClose;
  });
  useEffect(() => {
    const before = document.activeElement;
    sheet.current?.focus();
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") close.current();
    };
    const onPointer = (event: PointerEvent) => {
      const target = event.target as Node;
      if (sheet.current?.contains(target) === true || before?.contains(target) === true) return;
      close.current();
    };
    document.addEventListener("keydown", onKey);
    document.addEventListener("pointerdown", onPointer);
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("pointerdown", onPointer);
      if (before instanceof HTMLElement) before.focus();
    };
  }, [sheet]);
}

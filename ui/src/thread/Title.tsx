import { useRef, useState } from "react";
import * as server from "../client/endpoints";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";

/** The title, changed in its place: Enter keeps, Escape leaves it as it was. */
export function Title({ thread, title }: { thread: string; title: string | null }) {
  const { t, locale } = useTexts();
  const [draft, setDraft] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const shown = title ?? t("list.untitled");
  const left = useRef(false);
  /** Who came by the keyboard is back where they were. */
  const byKey = useRef(false);
  const leave = () => {
    left.current = true;
    byKey.current = true;
    setDraft(null);
  };
  const save = async () => {
    if (left.current) return;
    const next = draft?.trim() ?? "";
    try {
      if (next !== "" && next !== title) await server.renameThread(thread, next);
      setDraft(null);
      setError(null);
    } catch (reason) {
      byKey.current = false;
      setError(reason);
    }
  };
  if (draft === null) {
    return (
      <>
        <h1 id="title">{shown}</h1>
        <button
          type="button"
          className="icon-button s"
          aria-label={t("thread.rename")}
          title={t("thread.rename")}
          ref={(button) => {
            if (button === null || !byKey.current) return;
            byKey.current = false;
            button.focus();
          }}
          onClick={() => {
            left.current = false;
            setDraft(title ?? "");
          }}
        >
          <Icon name="pencil" />
        </button>
      </>
    );
  }
  return (
    <form
      className="title-form"
      onSubmit={(event) => {
        event.preventDefault();
        byKey.current = true;
        void save();
      }}
    >
      <h1 id="title" className="hidden">
        {shown}
      </h1>
      <input
        className="field title-edit"
        aria-label={t("thread.titleLabel")}
        value={draft}
        maxLength={200}
        ref={(input) => input?.focus()}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={() => void save()}
        onKeyDown={(event) => {
          if (event.key === "Escape") leave();
        }}
      />
      {error !== null && <ErrorLine title={t("error.title")}>{explain(error, t, locale)}</ErrorLine>}
    </form>
  );
}

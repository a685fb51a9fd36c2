import { useEffect, useRef, useState } from "react";
import type { PersonRequest } from "../api/types";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { keepDraft, readDraft } from "../store/drafts";
import { draftOf, type Answering } from "./useAnswering";
import { MAX_CHARACTERS, tooLong } from "./words";

interface ConfirmationFormProps {
  request: PersonRequest;
  answering: Answering;
  /** Focused itself, it is answered by one key. */
  card: React.RefObject<HTMLElement | null>;
}

const KEYS = { yes: "a", no: "d" };

/** Yes or no, and why. */
export function ConfirmationForm({ request, answering, card }: ConfirmationFormProps) {
  const { t, locale } = useTexts();
  const [reason, show] = useState(() => readDraft(draftOf(request.id)));
  const [saysWhy, sayWhy] = useState(reason !== "");
  const box = useRef<HTMLTextAreaElement>(null);
  const sending = answering.sending?.confirmed;
  const long = reason.length > MAX_CHARACTERS;
  const answer = (confirmed: boolean) => {
    if (!long) answering.answer({ confirmed, reason: reason.trim() });
  };
  useKeys(card, { [KEYS.yes]: () => answer(true), [KEYS.no]: () => answer(false) });
  const setReason = (next: string) => {
    show(next);
    keepDraft(draftOf(request.id), next);
  };
  const yes = { confirmed: true, label: request.confirm_label ?? t("request.confirm"), key: KEYS.yes };
  const no = { confirmed: false, label: request.decline_label ?? t("request.decline"), key: KEYS.no };
  const offered = request.default === false ? [no, yes] : [yes, no];
  return (
    <div className="answering">
      {saysWhy && (
        <label className="why">
          <span>
            {t("request.reason")} <span className="faint">{t("request.reasonHint")}</span>
          </span>
          <textarea
            ref={box}
            className="field"
            rows={2}
            aria-invalid={long}
            value={reason}
            readOnly={answering.sending !== null}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
      )}
      {long && <p className="note fail-word">{tooLong(t, locale)}</p>}
      <div className="answers">
        {offered.map(({ confirmed, label, key }, index) => (
          <button
            key={key}
            type="button"
            className={index === 0 ? "button primary" : "button"}
            aria-disabled={answering.sending !== null || long}
            aria-keyshortcuts={key}
            onClick={() => answer(confirmed)}
          >
            {sending === confirmed && <Icon name="work" className="turning" />}
            {label} <kbd aria-hidden="true">{key.toUpperCase()}</kbd>
          </button>
        ))}
        {!saysWhy && (
          <button
            type="button"
            className="button quiet"
            onClick={() => {
              sayWhy(true);
              requestAnimationFrame(() => box.current?.focus());
            }}
          >
            {t("request.addReason")}
          </button>
        )}
      </div>
    </div>
  );
}

/** Single keys, while the element itself has the focus and no field or button within. */
function useKeys(element: React.RefObject<HTMLElement | null>, keys: Record<string, () => void>): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    const target = element.current;
    const onKey = (event: KeyboardEvent) => {
      if (event.target !== target || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      current.current[event.key.toLowerCase()]?.();
    };
    target?.addEventListener("keydown", onKey);
    return () => target?.removeEventListener("keydown", onKey);
  }, [element]);
}

import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import type { When } from "../api/types";
import type { RunFacts } from "../log/state";
import { Choice } from "../parts/Choice";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { useSession } from "../store/session";
import { isSendingEnter } from "./enter";
import type { Sender } from "./useSender";

interface ComposerProps {
  sender: Sender;
  label: string;
  placeholder?: string;
  rows?: number;
  /** Where a mouse is, the keyboard is too: the box has the focus from the first. */
  focusFirst?: boolean;
  /** The run that works now: Send becomes Add, with Stop beside it. */
  working?: RunFacts | null;
  onStop?: () => void;
  /** What a message does while a run works, until the person chooses. */
  whenDefault?: When;
  /** That run asks in the conversation: what is sent is its answer. */
  answers?: boolean;
  disabled?: boolean;
}

export function Composer(props: ComposerProps) {
  const { t } = useTexts();
  const { sender, label, placeholder, rows = 1, focusFirst = false, working = null, answers = false } = props;
  const { disabled = false, whenDefault = "next" } = props;
  const [chosen, setWhen] = useState<When | null>(null);
  const when = possible(chosen ?? whenDefault, working);
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => grow(box.current), [sender.text]);
  useEffect(() => {
    if (focusFirst && window.matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, [focusFirst]);

  const submit = () => {
    if (sender.sending || disabled) return;
    void sender.submit(working === null || answers ? "next" : when).then(() => box.current?.focus());
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (!isSendingEnter(event)) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      className="composer"
      aria-label={t("composer.form")}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={box}
        rows={rows}
        aria-label={label}
        placeholder={placeholder}
        value={sender.text}
        readOnly={sender.sending}
        enterKeyHint="send"
        onChange={(event) => sender.setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="foot">
        <div className="end">
          {working !== null && answers && <StopButton working={working} onStop={props.onStop} />}
          {working === null || answers ? (
            <SendButton sender={sender} disabled={disabled} />
          ) : (
            <WorkingButtons sender={sender} working={working} when={when} onWhen={setWhen} onStop={props.onStop} />
          )}
        </div>
      </div>
    </form>
  );
}

function SendButton({ sender, disabled }: { sender: Sender; disabled: boolean }) {
  const { t } = useTexts();
  const label = sender.sending ? t("composer.sending") : t("composer.send");
  const empty = sender.text.trim() === "";
  return (
    <button
      type="submit"
      className="button primary send"
      aria-label={label}
      title={label}
      aria-disabled={empty || sender.sending || disabled}
    >
      <Icon name={sender.sending ? "work" : "up"} className={sender.sending ? "turning" : ""} />
    </button>
  );
}

function StopButton({ working, onStop }: { working: RunFacts; onStop: (() => void) | undefined }) {
  const { t } = useTexts();
  return (
    <button type="button" className="button quiet stop" disabled={working.stopping} onClick={onStop}>
      <Icon name="stop" />
      <span>{working.stopping ? t("composer.stopping") : t("composer.stop")}</span>
    </button>
  );
}

interface WorkingProps {
  sender: Sender;
  working: RunFacts;
  when: When;
  onWhen: (when: When) => void;
  onStop: (() => void) | undefined;
}

function canBeSteered(working: RunFacts | null): boolean {
  return working !== null && working.steerable && !working.stopping;
}

/** Where a run takes nothing that is said into it, "now" means after it. */
function possible(when: When, working: RunFacts | null): When {
  return when === "now" && !canBeSteered(working) ? "next" : when;
}

function WorkingButtons({ sender, working, when, onWhen, onStop }: WorkingProps) {
  const { t } = useTexts();
  const typed = sender.text.trim() !== "";
  const options: { value: When; label: string; hint: string }[] = [
    { value: "instead", label: t("composer.instead"), hint: t("composer.insteadHint") },
    { value: "next", label: t("composer.after"), hint: t("composer.afterHint") },
  ];
  if (canBeSteered(working)) options.unshift({ value: "now", label: t("composer.now"), hint: t("composer.nowHint") });
  return (
    <>
      {typed && (
        <span className="when">
          <span className="words">{t("composer.next")}</span>
          <Choice
            label={t("composer.when")}
            kind="radio"
            options={options}
            value={when}
            onChange={onWhen}
          />
        </span>
      )}
      <StopButton working={working} onStop={onStop} />
      {typed && (
        <button type="submit" className="button primary" aria-disabled={sender.sending}>
          {t("composer.add")}
        </button>
      )}
    </>
  );
}

const GROWS_BY_STYLE: boolean = "fieldSizing" in document.documentElement.style;

/** Grows with its text where the browser's style sheet cannot (`field-sizing`); 40 % of the height at most. */
function grow(area: HTMLTextAreaElement | null): void {
  if (area === null || GROWS_BY_STYLE) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

/** Why the text is still in the box, and the way to try again. */
export function SendError({ sender }: { sender: Sender }) {
  const { t, locale } = useTexts();
  const limit = useSession((state) => state.info?.limits.message_bytes);
  if (sender.error === null) return null;
  return (
    <ErrorLine
      title={t("composer.notSent")}
      action={{ label: t("app.retry"), run: () => void sender.retry() }}
    >
      {explain(sender.error, t, locale, limit)} {t("composer.kept")}
    </ErrorLine>
  );
}

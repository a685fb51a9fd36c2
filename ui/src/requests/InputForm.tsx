import { useId, useRef, useState, type KeyboardEvent } from "react";
import type { PersonRequest } from "../api/types";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { keepDraft, readDraft } from "../store/drafts";
import { isSendingEnter } from "../thread/enter";
import { draftOf, type Answering } from "./useAnswering";
import { MAX_CHARACTERS, tooLong } from "./words";

interface FormProps {
  request: PersonRequest;
  answering: Answering;
  /** The id of the question, which names the box. */
  title: string;
}

/** Few and short choices are buttons; others are listed, and sent when one is chosen. */
const MOST_BUTTONS = 5;
const LONGEST_BUTTON = 28;

export function InputForm(props: FormProps) {
  const { choices } = props.request;
  if (choices.length === 0) return <TextForm {...props} />;
  const fits = choices.length <= MOST_BUTTONS && choices.every((choice) => choice.label.length <= LONGEST_BUTTON);
  return fits ? <ButtonForm {...props} /> : <ListForm {...props} />;
}

/** The text in the box, kept where a reload finds it. */
function useKeptText(request: PersonRequest): [string, (text: string) => void] {
  const standard = typeof request.default === "string" ? request.default : "";
  const known = request.choices.some((choice) => choice.value === standard) ? "" : standard;
  const [text, show] = useState(() => readDraft(draftOf(request.id)) || known);
  const keep = (next: string) => {
    show(next);
    keepDraft(draftOf(request.id), next);
  };
  return [text, keep];
}

function TextForm(props: FormProps) {
  const { request, answering, title } = props;
  const { t, locale } = useTexts();
  const [text, setText] = useKeptText(request);
  const note = useId();
  const sending = answering.sending !== null;
  const standard = typeof request.default === "string" ? request.default : null;
  const long = text.length > MAX_CHARACTERS;
  const ready = !long && (text.trim() !== "" || standard !== null) && !sending;
  const send = () => {
    if (ready) answering.answer({ text: text.trim() });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (!isSendingEnter(event)) return;
    event.preventDefault();
    send();
  };
  const blank = standard !== null && text.trim() === "" ? t("request.blank", { default: standard }) : null;
  const said = long ? tooLong(t, locale) : blank;
  return (
    <form
      className="answering"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        className="field"
        rows={2}
        aria-label={t("request.answer")}
        aria-describedby={said === null ? title : `${title} ${note}`}
        aria-invalid={long}
        value={text}
        readOnly={sending}
        enterKeyHint="send"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {said !== null && (
        <p className={long ? "note fail-word" : "note"} id={note}>
          {said}
        </p>
      )}
      <div className="answers">
        <SendButton ready={ready} sending={sending} />
      </div>
    </form>
  );
}

function SendButton({ ready, sending }: { ready: boolean; sending: boolean }) {
  const { t } = useTexts();
  return (
    <button type="submit" className="button primary" aria-disabled={!ready}>
      {sending && <Icon name="work" className="turning" />}
      {sending ? t("request.sending") : t("request.send")}
    </button>
  );
}

function ButtonForm(props: FormProps) {
  const { request, answering, title } = props;
  const { t } = useTexts();
  const [own, setOwn] = useState(() => readDraft(draftOf(request.id)) !== "");
  const sending = answering.sending?.text;
  return (
    <>
      <div className="answers" role="group" aria-labelledby={title}>
        {request.choices.map((choice) => (
          <button
            key={choice.value}
            type="button"
            className={choice.value === request.default ? "button primary" : "button"}
            aria-disabled={answering.sending !== null}
            onClick={() => answering.answer({ text: choice.value })}
          >
            {sending === choice.value && <Icon name="work" className="turning" />}
            {choice.label}
          </button>
        ))}
        {!request.only_choices && !own && (
          <button type="button" className="button quiet" onClick={() => setOwn(true)}>
            {t("request.other")}
          </button>
        )}
      </div>
      {own && !request.only_choices && <TextForm {...props} request={{ ...request, default: null }} />}
    </>
  );
}

const OWN = "\u0000own";

function ListForm(props: FormProps) {
  const { request, answering, title } = props;
  const { t, locale } = useTexts();
  const name = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useKeptText({ ...request, default: null });
  const [chosen, choose] = useState<string | null>(() => {
    if (text !== "") return OWN;
    return typeof request.default === "string" ? request.default : null;
  });
  const own = chosen === OWN;
  const long = own && text.length > MAX_CHARACTERS;
  const sending = answering.sending !== null;
  const given = own ? text.trim() : chosen;
  const ready = given !== null && given !== "" && !long && !sending;
  return (
    <form
      className="answering"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) answering.answer({ text: given });
      }}
    >
      <div className="radios" role="radiogroup" aria-labelledby={title}>
        {request.choices.map((choice) => (
          <label key={choice.value}>
            <input
              type="radio"
              name={name}
              checked={chosen === choice.value}
              disabled={sending}
              onChange={() => choose(choice.value)}
            />
            {choice.label}
          </label>
        ))}
        {!request.only_choices && (
          <label>
            <input
              type="radio"
              name={name}
              checked={own}
              disabled={sending}
              onChange={() => {
                choose(OWN);
                requestAnimationFrame(() => box.current?.focus());
              }}
            />
            {t("request.other")}
          </label>
        )}
      </div>
      {own && (
        <textarea
          ref={box}
          className="field"
          rows={2}
          aria-label={t("request.answer")}
          aria-invalid={long}
          value={text}
          readOnly={sending}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {long && <p className="note fail-word">{tooLong(t, locale)}</p>}
      <div className="answers">
        <SendButton ready={ready} sending={sending} />
      </div>
    </form>
  );
}

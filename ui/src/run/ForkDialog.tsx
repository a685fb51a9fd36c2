import { useEffect, useId, useMemo, useRef, useState } from "react";
import { useNavigate } from "react-router";
import type { Envelope, RunRecord } from "../api/types";
import * as server from "../client/endpoints";
import { newId } from "../client/ids";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { entryName } from "./entryName";
import { FIRST } from "./scrub";
import { changesOf, settingsOf, textOf, type Setting } from "./settings";

interface ForkDialogProps {
  record: RunRecord;
  entries: readonly Envelope[];
  /** Where the reader stands. */
  position: number;
  last: number;
  onClose: () => void;
}

type Settings = "loading" | readonly Setting[];
const NO_SETTINGS: readonly Setting[] = [];

/** Says what a fork is and that it calls models, lets settings be changed, and goes to the new run. */
export function ForkDialog({ record, entries, position, last, onClose }: ForkDialogProps) {
  const { t, locale } = useTexts();
  const navigate = useNavigate();
  const title = useId();
  const [from, setFrom] = useState(String(position));
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // Sent again after a lost answer it is the same fork; with anything changed it is another.
  const run = useMemo(() => ({ id: newId(), of: [from, texts] }), [from, texts]);
  const settings = useSettings(record, locale);
  const dialog = useModal(onClose);
  const had = (entries[0]?.data.config ?? {}) as Record<string, unknown>;
  const at = Number(from);
  const fits = from.trim() !== "" && Number.isInteger(at) && at >= FIRST && at <= last;
  const changes = settings === "loading" ? {} : changesOf(settings, had, texts);
  const unread = Object.keys(changes).filter((name) => changes[name] === undefined);
  const entry = entries[at - 1];
  const submit = async () => {
    if (working || !fits || unread.length > 0) return;
    setWorking(true);
    setError(null);
    try {
      const made = await server.forkRun(record.id, { position: at, config: changes, run_id: run.id });
      onClose();
      await navigate(`/runs/${made.run_id}`);
    } catch (reason) {
      setError(reason);
      setWorking(false);
    }
  };
  return (
    <dialog className="float fork" ref={dialog} aria-labelledby={title} onCancel={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <header>
          <h2 id={title}>{t("fork.title")}</h2>
          <p className="soft">{t("fork.about")}</p>
        </header>
        <div className="entry">
          <div className="name">
            <label htmlFor={`${title}-from`}>{t("fork.from")}</label>
          </div>
          <div>
            <input
              id={`${title}-from`}
              className="field short"
              type="number"
              min={FIRST}
              max={last}
              value={from}
              aria-invalid={!fits}
              aria-describedby={`${title}-at`}
              onChange={(event) => setFrom(event.target.value)}
            />
            <p id={`${title}-at`} className={fits ? "small faint" : "small fail"}>
              {fits && entry !== undefined ? entryName(entry, t) : t("fork.range", { first: FIRST, last })}
            </p>
          </div>
        </div>
        {settings === "loading" ? (
          <Skeleton label={t("app.loading")} />
        ) : (
          settings.map((setting) => (
            <Entry
              key={setting.name}
              setting={setting}
              value={texts[setting.name] ?? textOf(setting, had[setting.name] ?? setting.initial)}
              changed={setting.name in changes}
              wrong={unread.includes(setting.name)}
              onChange={(text) => setTexts({ ...texts, [setting.name]: text })}
            />
          ))
        )}
        {error !== null && <ErrorLine title={t("fork.failed")}>{explain(error, t, locale)}</ErrorLine>}
        <footer>
          <p className="small soft calls">
            <Icon name="alert" />
            {t("fork.calls")}
          </p>
          <button type="button" className="button" onClick={onClose}>
            {t("fork.cancel")}
          </button>
          <button type="submit" className="button primary" aria-disabled={working || !fits || unread.length > 0}>
            {working ? t("fork.working") : t("fork.submit")}
          </button>
        </footer>
      </form>
    </dialog>
  );
}

interface EntryProps {
  setting: Setting;
  value: string;
  changed: boolean;
  wrong: boolean;
  onChange: (text: string) => void;
}

function Entry({ setting, value, changed, wrong, onChange }: EntryProps) {
  const { t } = useTexts();
  const id = useId();
  const common = { id, "aria-invalid": wrong, "aria-describedby": `${id}-help` };
  return (
    <div className="entry">
      <div className="name">
        <label htmlFor={id}>{setting.title}</label>
        {changed && (
          <span className="small accent-text">
            <Icon name="pencil" />
            {t("fork.changed")}
          </span>
        )}
      </div>
      <div>
        {setting.kind === "switch" && (
          <input
            {...common}
            type="checkbox"
            checked={value === "true"}
            onChange={(event) => onChange(String(event.target.checked))}
          />
        )}
        {setting.kind === "choice" && (
          <select {...common} className="field" value={value} onChange={(event) => onChange(event.target.value)}>
            {setting.initial === null && <option value="">{t("fork.default")}</option>}
            {setting.choices.map((choice) => (
              <option key={choice}>{choice}</option>
            ))}
          </select>
        )}
        {(setting.kind === "text" || setting.kind === "json") && (
          <textarea {...common} className="field" rows={1} value={value} onChange={(event) => onChange(event.target.value)} />
        )}
        {(setting.kind === "number" || setting.kind === "whole") && (
          <input
            {...common}
            className="field short"
            type="number"
            step={setting.kind === "whole" ? 1 : "any"}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
        <p id={`${id}-help`} className={wrong ? "small fail" : "small faint"}>
          {wrong ? t("fork.unreadable") : setting.help}
        </p>
      </div>
    </div>
  );
}

/** The settings that the reader may change; none where that is not hers to do. */
function useSettings(record: RunRecord, locale: string): Settings {
  const [settings, setSettings] = useState<Settings>(record.profile === null ? NO_SETTINGS : "loading");
  const { profile } = record;
  useEffect(() => {
    if (profile === null) return undefined;
    let wanted = true;
    server.readProfile(profile).then(
      ({ config_schema: schema }) => wanted && setSettings(schema == null ? NO_SETTINGS : settingsOf(schema, locale)),
      () => wanted && setSettings(NO_SETTINGS),
    );
    return () => {
      wanted = false;
    };
  }, [profile, locale]);
  return settings;
}

/** Opens the dialog over everything; the focus goes back to where it was. */
function useModal(onClose: () => void): React.RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  useEffect(() => {
    close.current = onClose;
  });
  useEffect(() => {
    const opened = dialog.current;
    const before = document.activeElement;
    if (opened !== null && !opened.open) opened.showModal();
    const onPointer = (event: PointerEvent) => {
      if (event.target === opened) close.current();
    };
    opened?.addEventListener("pointerdown", onPointer);
    return () => {
      opened?.removeEventListener("pointerdown", onPointer);
      opened?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return dialog;
}

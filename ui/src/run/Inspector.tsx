import { useState } from "react";
import { Link } from "react-router";
import type { Envelope } from "../api/types";
import { exactClock } from "../i18n/format";
import type { Execution, RunEvent, RunModel } from "../log/run";
import { Choice } from "../parts/Choice";
import { CopyButton } from "../parts/CopyButton";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { causesOf, effectsOf, publishedBy, type Selection } from "./chain";
import { entryName } from "./entryName";
import { shortName } from "./Graph";
import { PayloadTree } from "./PayloadTree";
import { PromptTab } from "./PromptTab";

interface InspectorProps {
  run: string;
  model: RunModel;
  entries: readonly Envelope[];
  /** Entries of the whole run, of which these may be the first. */
  count: number;
  selection: Selection;
  onEvent: (position: number) => void;
}

type Tab = "event" | "cause" | "state" | "prompt" | "log";

export function Inspector({ run, model, entries, count, selection, onEvent }: InspectorProps) {
  const { t } = useTexts();
  const [tab, setTab] = useState<Tab>("event");
  const event = model.events.find((one) => one.position === selection.position);
  const execution = model.executions.find((one) => one.id === selection.execution);
  return (
    <section className="pane at-event" aria-label={t("run.inspector")}>
      <header>
        <Choice
          label={t("run.inspector")}
          kind="tabs"
          panel="inspected"
          options={[
            { value: "event", label: t("run.tabEvent") },
            { value: "cause", label: t("run.tabCause") },
            { value: "state", label: t("run.tabState") },
            { value: "prompt", label: t("run.tabPrompt") },
            { value: "log", label: t("run.tabLog") },
          ]}
          value={tab}
          onChange={setTab}
        />
      </header>
      <div className="scroll" role="tabpanel" id="inspected">
        {tab === "log" && <LogTab entries={entries} selection={selection} onEvent={onEvent} model={model} />}
        {tab === "state" && <StateTab model={model} position={selection.position ?? entries.length} onEvent={onEvent} />}
        {tab === "prompt" && <PromptTab run={run} execution={execution} />}
        {(tab === "event" || tab === "cause") && execution?.error != null && <StepError execution={execution} />}
        {tab === "event" && <EventTab model={model} event={event} count={count} onEvent={onEvent} />}
        {tab === "cause" && <CauseTab model={model} event={event} onEvent={onEvent} />}
      </div>
    </section>
  );
}

function StepError({ execution }: { execution: Execution }) {
  const { error, step } = execution;
  if (error === null) return null;
  return (
    <div className="error step-error">
      <Icon name="failed" />
      <span className="cause">
        <b>{step}</b> {error.message} {error.what_to_do} <span className="mono faint">{error.code}</span>
      </span>
    </div>
  );
}

interface EventTabProps {
  model: RunModel;
  event: RunEvent | undefined;
  count: number;
  onEvent: (position: number) => void;
}

function EventTab({ model, event, count, onEvent }: EventTabProps) {
  const { t, locale } = useTexts();
  if (event === undefined) return <p className="small faint">{t("run.nothing")}</p>;
  const maker = model.executions.find((one) => one.id === event.from);
  const from = causesOf(model, event.position);
  const to = effectsOf(model, event.position);
  const child = event.data.child_run;
  return (
    <>
      <h2 className="event-name mono">{shortName(event.type)}</h2>
      <p className="small faint">
        {[t("run.position", { position: event.position, count }), exactClock(event.time, locale)].join(" · ")}
        {maker !== undefined && (
          <>
            {" · "}
            <span className="mono">{maker.step}</span>
          </>
        )}
      </p>
      {typeof child === "string" && (
        <p className="small">
          <Link to={`/runs/${child}`}>{t("run.openChild")}</Link>
        </p>
      )}
      {from.length + to.length > 0 && (
        <ul className="chain" aria-label={t("run.tabCause")}>
          {from.map((position) => (
            <ChainLink key={`f${position}`} model={model} position={position} way="from" onEvent={onEvent} />
          ))}
          {to.map((position) => (
            <ChainLink key={`t${position}`} model={model} position={position} way="to" onEvent={onEvent} />
          ))}
        </ul>
      )}
      <div className="sub-head">
        <h3>{t("run.payload")}</h3>
        <CopyButton label={t("run.copy")} text={() => JSON.stringify(event.data, null, 2)} />
      </div>
      <PayloadTree key={event.position} data={event.data} label={t("run.payload")} />
    </>
  );
}

interface ChainLinkProps {
  model: RunModel;
  position: number;
  way: "from" | "to" | null;
  onEvent: (position: number) => void;
}

function ChainLink({ model, position, way, onEvent }: ChainLinkProps) {
  const { t } = useTexts();
  const event = model.events.find((one) => one.position === position);
  return (
    <li>
      {way !== null && (
        <>
          <Icon name={way === "from" ? "left" : "right"} />
          <span className="faint">{t(`run.${way}`)}</span>
        </>
      )}
      <button type="button" className="text-button accent" onClick={() => onEvent(position)}>
        {t("run.no", { position })} {shortName(event?.type ?? "")}
      </button>
    </li>
  );
}

function CauseTab({ model, event, onEvent }: Omit<EventTabProps, "count">) {
  const { t } = useTexts();
  if (event === undefined) return <p className="small faint">{t("run.nothing")}</p>;
  const maker = model.executions.find((one) => one.id === event.from);
  const takers = model.executions.filter((one) => event.takenBy.includes(one.id));
  return (
    <>
      <h2 className="event-name mono">{shortName(event.type)}</h2>
      <div className="sub-head first">
        <h3>{t("run.causes")}</h3>
      </div>
      {maker === undefined ? (
        <p className="small faint">{t("run.noCause")}</p>
      ) : (
        <StepBox execution={maker} model={model} positions={maker.inputs} words={t("run.takes")} onEvent={onEvent} />
      )}
      <div className="sub-head">
        <h3>{t("run.effects")}</h3>
      </div>
      {takers.length === 0 && <p className="small faint">{t("run.noEffect")}</p>}
      {takers.map((one) => (
        <StepBox key={one.id} execution={one} model={model} positions={publishedBy(model, one.id)} words={t("run.publishes")} onEvent={onEvent} />
      ))}
    </>
  );
}

interface StepBoxProps {
  execution: Execution;
  model: RunModel;
  positions: readonly number[];
  words: string;
  onEvent: (position: number) => void;
}

function StepBox({ execution, model, positions, words, onEvent }: StepBoxProps) {
  const { t } = useTexts();
  return (
    <div className="small step-box">
      <p>
        <span className="mono">{execution.step}</span>{" "}
        <span className="faint">{positions.length === 0 ? t("run.none") : words}</span>
      </p>
      <ul className="chain">
        {[...new Set(positions)].map((position) => (
          <ChainLink key={position} model={model} position={position} way={null} onEvent={onEvent} />
        ))}
      </ul>
    </div>
  );
}

interface StateTabProps {
  model: RunModel;
  position: number;
  onEvent: (position: number) => void;
}

/** What the run looked like when the selected event was written. */
function StateTab({ model, position, onEvent }: StateTabProps) {
  const { t } = useTexts();
  const begun = model.executions.filter((one) => one.duePosition <= position);
  const running = begun.filter((one) => one.endPosition === null || one.endPosition > position);
  const finished = begun.filter((one) => !running.includes(one));
  const taken = new Set(begun.flatMap((one) => one.inputs));
  const waiting = model.events.filter((one) => one.position <= position && !taken.has(one.position));
  return (
    <>
      <p className="small faint">{t("run.stateAt", { position })}</p>
      <StateList title={t("run.running")} items={running.map((one) => one.step)} />
      <div className="sub-head">
        <h3>{t("run.waiting")}</h3>
      </div>
      {waiting.length === 0 && <p className="small faint">{t("run.none")}</p>}
      <ul className="chain">
        {waiting.map((one) => (
          <ChainLink key={one.position} model={model} position={one.position} way={null} onEvent={onEvent} />
        ))}
      </ul>
      <StateList title={t("run.finished")} items={finished.map((one) => one.step)} />
    </>
  );
}

function StateList({ title, items }: { title: string; items: readonly string[] }) {
  const { t } = useTexts();
  return (
    <>
      <div className="sub-head">
        <h3>{title}</h3>
      </div>
      {items.length === 0 ? (
        <p className="small faint">{t("run.none")}</p>
      ) : (
        <ul className="chain mono">
          {items.map((item, index) => (
            <li key={index}>{item}</li>
          ))}
        </ul>
      )}
    </>
  );
}

interface LogTabProps {
  model: RunModel;
  entries: readonly Envelope[];
  selection: Selection;
  onEvent: (position: number) => void;
}

/** Every entry of the journal, as it was written. */
function LogTab({ model, entries, selection, onEvent }: LogTabProps) {
  const { locale } = useTexts();
  const events = new Set(model.events.map((one) => one.position));
  return (
    <ol className="journal">
      {entries.map((entry) => (
        <li key={entry.position} className="mono" {...(entry.position === selection.position ? { "aria-current": true } : {})}>
          <span className="faint">{entry.position}</span>
          <span className="faint">{exactClock(entry.time, locale)}</span>
          {events.has(entry.position) ? (
            <button type="button" className="text-button accent" onClick={() => onEvent(entry.position)}>
              <EntryName entry={entry} />
            </button>
          ) : (
            <EntryWords entry={entry} model={model} />
          )}
        </li>
      ))}
    </ol>
  );
}

function EntryWords({ entry, model }: { entry: Envelope; model: RunModel }) {
  const { step, execution } = entry.data;
  const subject = typeof step === "string" ? step : model.executions.find((one) => one.id === execution)?.step;
  return (
    <span>
      <EntryName entry={entry} /> <span className="faint">{subject}</span>
    </span>
  );
}

function EntryName({ entry }: { entry: Envelope }) {
  const { t } = useTexts();
  return <>{entryName(entry, t)}</>;
}

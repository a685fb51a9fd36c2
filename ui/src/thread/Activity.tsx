import { useState } from "react";
import type { Envelope } from "../api/types";
import { serverText } from "../i18n";
import { clock, span, wholeSeconds } from "../i18n/format";
import { liveText } from "../log/live";
import type { WaitsFor } from "../log/requests";
import { runModel, stepName, type Execution, type RunEvent, type RunModel } from "../log/run";
import type { RunFacts } from "../log/state";
import { Choice } from "../parts/Choice";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useNow } from "../parts/useNow";
import { useTexts } from "../parts/useTexts";
import { PayloadTree } from "../run/PayloadTree";
import { loadJournal, useView } from "../store/view";

const NOTHING: readonly Envelope[] = [];

/** One line says what happens; it unfolds to the run's steps. */
export function Activity({ run, waits }: { run: RunFacts; waits: WaitsFor }) {
  const [open, setOpen] = useState(false);
  const entries = useView((state) => state.view.journals[run.id]?.entries ?? NOTHING);
  const toggle = () => {
    if (!open) void loadJournal(run.id);
    setOpen(!open);
  };
  return (
    <div className="activity">
      <button type="button" className={`line ${waits === "you" ? "wait" : run.status}`} aria-expanded={open} onClick={toggle}>
        <Summary run={run} waits={waits} model={runModel(entries)} />
        <Icon name="right" className="fold" />
      </button>
      {open && <Steps run={run} entries={entries} />}
    </div>
  );
}

const WAITS = { you: "activity.waitsYou", others: "activity.waitsOthers", runs: "activity.waitsRuns" } as const;

function Summary({ run, waits, model }: { run: RunFacts; waits: WaitsFor; model: RunModel }) {
  const { t, locale } = useTexts();
  const working = run.status === "working" || run.status === "queued" || (run.status === "waiting" && waits === null);
  const now = useNow(working);
  if (run.status === "queued") return <Line icon="wait" words={t("activity.queued")} />;
  if (waits !== null && !run.stopping) {
    const until = run.until === null ? "" : clock(run.until, locale);
    return <Line icon="wait" words={waits === "time" ? t("activity.waitsTime", { time: until }) : t(WAITS[waits])} />;
  }
  if (run.status === "working" || run.status === "waiting") {
    const seconds = (now - Date.parse(run.started ?? run.requested)) / 1000;
    const what = run.stopping ? t("state.stopping") : (doing(model, locale) ?? t("activity.working"));
    return <Line icon="work" turning words={`${what} · ${wholeSeconds(seconds, locale)}`} />;
  }
  const time = span(run.seconds ?? secondsBetween(run), locale);
  if (run.status === "failed") return <Line icon="failed" words={t("activity.failed", { time })} />;
  if (run.status === "stopped") return <Line icon="halt" words={t("activity.stopped", { time })} />;
  const steps = run.steps === null || run.steps === 0 ? null : t("activity.steps", { count: run.steps });
  return <Line icon="done" words={[t("activity.worked", { time }), steps].filter(Boolean).join(" · ")} />;
}

function Line({ icon, words, turning = false }: { icon: IconName; words: string; turning?: boolean }) {
  return (
    <>
      <Icon name={icon} className={turning ? "turning" : ""} />
      <span className="words">{words}</span>
    </>
  );
}

function secondsBetween({ started, requested, ended }: RunFacts): number {
  return ended === null ? 0 : (Date.parse(ended) - Date.parse(started ?? requested)) / 1000;
}

/** What it is doing, in the words of the newest thing that has words. */
function doing(model: RunModel, locale: string): string | null {
  const working = model.executions.filter((one) => one.status === "working" && one.label !== null).at(-1);
  const shown = model.events.filter((one) => one.display && one.label !== null).at(-1);
  const newest = shown !== undefined && shown.position > (working?.duePosition ?? 0) ? shown : working;
  return serverText(newest?.label, locale);
}

function Steps({ run, entries }: { run: RunFacts; entries: readonly Envelope[] }) {
  const { t } = useTexts();
  const model = runModel(entries);
  const live = useView((state) => state.view.journals[run.id]?.live);
  const thinking = live === undefined ? "" : liveText(live, "thinking");
  if (model.executions.length === 0) {
    return run.status === "queued" ? <p className="faint">{t("activity.noSteps")}</p> : <Skeleton label={t("app.loading")} />;
  }
  return (
    <>
      <ol className="steps" aria-label={t("activity.list")}>
        {model.executions.map((execution) => (
          <Step key={execution.id} execution={execution} model={model} />
        ))}
      </ol>
      {thinking !== "" && (
        <p className="thoughts" aria-label={t("activity.thinking")}>
          {thinking}
        </p>
      )}
    </>
  );
}

const ICONS: Record<Execution["status"], IconName> = { working: "work", done: "done", failed: "failed", dropped: "halt" };

function Step({ execution, model }: { execution: Execution; model: RunModel }) {
  const { t, locale } = useTexts();
  const [open, setOpen] = useState(false);
  const now = useNow(execution.status === "working");
  const [, name] = stepName(execution);
  const label = serverText(execution.label, locale);
  const seconds = ((execution.end ?? now) - execution.due) / 1000;
  return (
    <li className={execution.status === "failed" ? "fail" : ""}>
      <Icon name={ICONS[execution.status]} className={execution.status === "working" ? "turning" : ""} />
      <button type="button" className="step" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="name">{label ?? readable(name)}</span>
        {label !== null && <span className="tool">{execution.step}</span>}
        <span className="took">
          {execution.status === "working" ? wholeSeconds(seconds, locale) : span(Math.max(0, seconds), locale)}
          {execution.status === "dropped" && ` · ${t("state.dropped")}`}
        </span>
      </button>
      {execution.error !== null && (
        <p className="why">
          {execution.error.message} {execution.error.what_to_do}
        </p>
      )}
      {open && <StepDetails execution={execution} model={model} />}
    </li>
  );
}

function StepDetails({ execution, model }: { execution: Execution; model: RunModel }) {
  const { t } = useTexts();
  const [tab, setTab] = useState<"arguments" | "result">("arguments");
  const taken = (event: RunEvent) => execution.inputs.includes(event.position);
  const published = (event: RunEvent) => event.from === execution.id;
  const events = model.events.filter(tab === "arguments" ? taken : published);
  const panel = `details-${execution.id}`;
  return (
    <div className="call">
      <Choice
        label={t("activity.show")}
        kind="tabs"
        panel={panel}
        options={[
          { value: "arguments", label: t("activity.arguments") },
          { value: "result", label: t("activity.result") },
        ]}
        value={tab}
        onChange={setTab}
      />
      <div role="tabpanel" id={panel}>
        {events.length === 0 && <p className="faint">{t("run.none")}</p>}
        {events.map((event) => (
          <div key={event.position} className="carried">
            <span className="mono faint">{event.type}</span>
            <PayloadTree data={event.data} />
          </div>
        ))}
      </div>
    </div>
  );
}

/** A step without a label of its own is called by its name. */
function readable(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toLocaleUpperCase() + words.slice(1);
}

import { useCallback, useEffect, useId, useRef, useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { RunRecord } from "../api/types";
import * as server from "../client/endpoints";
import { clock, dayOfMonth, money, span, wholeSeconds } from "../i18n/format";
import { Choice } from "../parts/Choice";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useNow } from "../parts/useNow";
import { useTexts, type Texts } from "../parts/useTexts";
import { useSession } from "../store/session";
import { useView } from "../store/view";
import { filtersOf, SavedViews } from "./SavedViews";
import { ScheduleList } from "./Schedules";
import "../styles/runs.css";

/** What can be chosen, and the states of runs it stands for. */
const STATUSES: Record<string, readonly string[]> = {
  working: ["running"],
  waiting: ["waiting"],
  completed: ["completed"],
  failed: ["failed"],
  stopped: ["stopped"],
};

/** How often it is looked for news: while something works, and else. */
const BUSY_MS = 4000;
const IDLE_MS = 10_000;

const LIST = "runs-or-schedules";

/** The person's runs, newest first, or the schedules that she may edit; what is shown stands in the address. */
export function RunsScreen() {
  const { t } = useTexts();
  const [query, setQuery] = useSearchParams();
  const role = useSession((state) => state.session?.role);
  const schedules = role !== "member" && query.get("view") === "schedules";
  const [picked, setPicked] = useState<Picked>(null);
  return (
    <main className="work runs" id="work" aria-labelledby="title">
      <header className="bar">
        <h1 id="title">{t("runs.title")}</h1>
        {role !== "member" && (
          <Choice
            kind="tabs"
            label={t("runs.views")}
            panel={LIST}
            value={schedules ? "schedules" : "runs"}
            options={[
              { value: "runs", label: t("runs.list") },
              { value: "schedules", label: t("schedules.title") },
            ]}
            onChange={(view) => setQuery(view === "runs" ? {} : { view }, { replace: true })}
          />
        )}
        {!schedules && (
          <div className="end">
            <Picking picked={picked} onChange={setPicked} />
          </div>
        )}
      </header>
      <div id={LIST} className="view" {...(role !== "member" && { role: "tabpanel", "aria-labelledby": "title" })}>
        {schedules ? <ScheduleList /> : <Runs picked={picked} onPick={setPicked} />}
      </div>
    </main>
  );
}

/** The list of runs with its filters. */
function Runs({ picked, onPick }: { picked: Picked; onPick: (picked: Picked) => void }) {
  const [query, setQuery] = useSearchParams();
  const status = query.get("status") ?? "";
  const profile = query.get("profile") ?? "";
  const thread = query.get("thread") ?? "";
  const scheduled = query.get("scheduled") === "1";
  const filtered = scheduled || [status, profile, thread].some((one) => one !== "");
  const change = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    setQuery(next, { replace: true });
  };
  return (
    <>
      <Filters status={status} profile={profile} thread={thread} scheduled={scheduled} onChange={change}>
        <SavedViews query={filtersOf(query)} onOpen={(view) => setQuery(view, { replace: true })} />
      </Filters>
      <RunList
        key={`${status}|${profile}|${thread}|${scheduled}`}
        status={status}
        profile={profile}
        thread={thread}
        scheduled={scheduled}
        picked={picked}
        onPick={onPick}
        onAll={filtered ? () => setQuery({}, { replace: true }) : null}
      />
    </>
  );
}

interface FiltersProps {
  status: string;
  profile: string;
  thread: string;
  scheduled: boolean;
  onChange: (name: string, value: string) => void;
  children: React.ReactNode;
}

function Filters({ status, profile, thread, scheduled, onChange, children }: FiltersProps) {
  const { t } = useTexts();
  const profiles = useView((state) => state.profiles) ?? [];
  return (
    <div className="filters" role="group" aria-label={t("runs.filters")}>
      <Select label={t("runs.status")} value={status} onChange={(value) => onChange("status", value)}>
        <option value="">{t("runs.anyStatus")}</option>
        {Object.keys(STATUSES).map((one) => (
          <option key={one} value={one}>
            {t(`state.${one as "working"}`)}
          </option>
        ))}
      </Select>
      <Select label={t("runs.profile")} value={profile} onChange={(value) => onChange("profile", value)}>
        <option value="">{t("runs.anyProfile")}</option>
        {profiles.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
        {profile !== "" && !profiles.some((one) => one.id === profile) && <option>{profile}</option>}
      </Select>
      {scheduled && (
        <button type="button" className="button quiet" onClick={() => onChange("scheduled", "")}>
          {t("runs.ofSchedules")}
          <Icon name="x" />
        </button>
      )}
      {thread !== "" && (
        <button type="button" className="button quiet" onClick={() => onChange("thread", "")}>
          {t("runs.ofThread")}
          <Icon name="x" />
        </button>
      )}
      {children}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: React.ReactNode;
}

function Select({ label, value, onChange, children }: SelectProps) {
  const id = useId();
  return (
    <span className="select">
      <label className="hidden" htmlFor={id}>
        {label}
      </label>
      <select id={id} className="field" value={value} onChange={(event) => onChange(event.target.value)}>
        {children}
      </select>
      <Icon name="down" />
    </span>
  );
}

interface RunListProps {
  status: string;
  profile: string;
  thread: string;
  scheduled: boolean;
  picked: Picked;
  onPick: (picked: Picked) => void;
  /** Takes the filters away; null where there are none. */
  onAll: (() => void) | null;
}

function RunList({ status, profile, thread, scheduled, picked, onPick, onAll }: RunListProps) {
  const { t } = useTexts();
  const { runs, more, newer, failed, reload, loadMore, showNew } = useRuns(status, profile, thread, scheduled);
  if (failed && runs === null) {
    return (
      <div className="scroll list-of-runs">
        <ErrorLine title={t("runs.failed")} action={{ label: t("app.retry"), run: reload }} />
      </div>
    );
  }
  if (runs === null) {
    return (
      <div className="scroll list-of-runs">
        <Skeleton label={t("app.loading")} lines={2} groups={4} />
      </div>
    );
  }
  return (
    <div className="scroll list-of-runs">
      {newer > 0 && (
        <button type="button" className="button new-runs" onClick={showNew}>
          <Icon name="up" />
          {t("runs.new", { count: newer })}
        </button>
      )}
      {runs.length === 0 ? <NoRuns onAll={onAll} /> : <Rows runs={runs} picked={picked} onPick={onPick} />}
      {more && (
        <button type="button" className="button quiet more" onClick={loadMore}>
          {t("runs.more")}
        </button>
      )}
      {failed && <ErrorLine title={t("runs.failed")} action={{ label: t("app.retry"), run: reload }} />}
    </div>
  );
}

function NoRuns({ onAll }: { onAll: (() => void) | null }) {
  const { t } = useTexts();
  return (
    <div className="empty">
      <b>{onAll === null ? t("runs.empty") : t("runs.none")}</b>
      {onAll === null ? t("runs.emptyHint") : t("runs.noneHint")}
      <div>
        {onAll === null ? (
          <Link className="button" to="/">
            {t("runs.emptyButton")}
          </Link>
        ) : (
          <button type="button" className="button" onClick={onAll}>
            {t("runs.noneButton")}
          </button>
        )}
      </div>
    </div>
  );
}

interface RowsProps {
  runs: readonly RunRecord[];
  picked: Picked;
  onPick: (picked: Picked) => void;
}

function Rows({ runs, picked, onPick }: RowsProps) {
  const { t } = useTexts();
  const now = useNow(runs.some(works));
  return (
    <>
      <div className="run-row head" aria-hidden="true">
        <span>{t("runs.status")}</span>
        <span>{t("runs.what")}</span>
        <span>{t("runs.profile")}</span>
        <span>{t("runs.by")}</span>
        <span>{t("runs.started")}</span>
        <span className="number">{t("runs.took")}</span>
        <span className="number">{t("runs.cost")}</span>
      </div>
      <ul aria-label={t("runs.title")}>
        {runs.map((run) => (
          <li key={run.id}>
            {picked === null ? (
              <Link className="run-row" to={`/runs/${run.id}`}>
                <RunCells run={run} now={now} />
              </Link>
            ) : (
              <PickRow run={run} now={now} picked={picked} onPick={onPick} />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

const LOOKS: Record<string, [IconName, string]> = {
  running: ["work", "working"],
  waiting: ["wait", "wait"],
  completed: ["done", "ok"],
  failed: ["failed", "fail"],
  stopped: ["halt", ""],
};

function RunCells({ run, now }: { run: RunRecord; now: number }) {
  const { t, locale } = useTexts();
  const [icon, look] = LOOKS[run.status] ?? ["work", "working"];
  const profile = run.profile_name ?? run.profile ?? run.blueprint;
  const started = run.started === null ? now : Date.parse(run.started);
  const seconds = ((run.ended === null ? now : Date.parse(run.ended)) - started) / 1000;
  const today = new Date(started).toDateString() === new Date(now).toDateString();
  const title = titleOf(run, t);
  return (
    <>
      <span className={`state ${look}`}>
        <Icon name={icon} className={run.status === "running" ? "turning" : ""} />
        {t(`state.${run.status}`)}
      </span>
      <span className="what">
        {run.forked_from != null && (
          <span className="small faint forked">
            <Icon name="fork" />
            {t("runs.fork")}
          </span>
        )}
        <b>{title}</b>
      </span>
      <span className="soft">{profile}</span>
      <span className="soft">{starterOf(run, t)}</span>
      <span className="faint">{today ? clock(started, locale) : dayOfMonth(new Date(started).toISOString(), locale)}</span>
      <span className="faint number">
        {run.ended === null ? wholeSeconds(seconds, locale) : span(Math.max(0, seconds), locale)}
      </span>
      <span className="faint number">{run.cost === null || Number(run.cost) === 0 ? "" : money(Number(run.cost), locale)}</span>
    </>
  );
}

/** A schedule's runs are told as such in the reader's language; else it is who started it. */
function starterOf(run: RunRecord, t: Texts["t"]): string | undefined {
  return run.scheduled != null && run.started_by?.kind === "system" ? t("runs.bySchedule") : run.started_by?.name;
}

function titleOf(run: RunRecord, t: Texts["t"]): string {
  const profile = run.profile_name ?? run.profile ?? run.blueprint;
  return run.title == null || run.title === "" ? t("runs.untitled", { profile }) : run.title;
}

/** The runs that are chosen to be compared; null where none are being chosen. */
type Picked = readonly string[] | null;

interface PickRowProps extends Pick<RowsProps, "onPick"> {
  run: RunRecord;
  now: number;
  picked: readonly string[];
}

function PickRow({ run, now, picked, onPick }: PickRowProps) {
  const { t } = useTexts();
  const chosen = picked.includes(run.id);
  const toggle = () => onPick(chosen ? picked.filter((one) => one !== run.id) : [...picked.slice(-1), run.id]);
  return (
    <label className="run-row pick" data-chosen={chosen}>
      <RunCells run={run} now={now} />
      <input
        type="checkbox"
        checked={chosen}
        onChange={toggle}
        aria-label={t("compare.pickRun", { run: titleOf(run, t) })}
      />
    </label>
  );
}

/** Choosing two runs, the one chosen first standing at the left. */
function Picking({ picked, onChange }: { picked: Picked; onChange: (picked: Picked) => void }) {
  const { t } = useTexts();
  if (picked === null) {
    return (
      <button type="button" className="button quiet" onClick={() => onChange([])}>
        {t("compare.pick")}
      </button>
    );
  }
  const [a, b] = picked;
  return (
    <>
      {a !== undefined && b !== undefined ? (
        <Link className="button primary" to={`/runs/compare?a=${a}&b=${b}`}>
          {t("compare.go")}
        </Link>
      ) : (
        <span className="small soft" role="status">
          {t("compare.pickHint")}
        </span>
      )}
      <button type="button" className="button quiet" onClick={() => onChange(null)}>
        {t("compare.cancel")}
      </button>
    </>
  );
}

const works = (run: RunRecord) => run.ended === null;

interface Loaded {
  runs: RunRecord[];
  next: string | null;
}

/** Reads the list, and looks again when something happens: what is listed is brought up to date, what is new waits. */
function useRuns(status: string, profile: string, thread: string, scheduled: boolean) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [fresh, setFresh] = useState<Loaded | null>(null);
  const [failed, setFailed] = useState(false);
  const summaries = useView((state) => state.summaries);
  const alive = useRef(true);
  const read = useCallback(
    (cursor?: string) =>
      server.listRuns(
        {
          status: STATUSES[status] ?? [],
          profile: profile === "" ? null : profile,
          thread: thread === "" ? null : thread,
          scheduled,
        },
        cursor,
      ),
    [status, profile, thread, scheduled],
  );
  const look = useCallback(() => {
    read().then(
      (page) => {
        if (!alive.current) return;
        setFailed(false);
        setFresh({ runs: page.items, next: page.next });
        setLoaded((before) => (before === null ? { runs: page.items, next: page.next } : updated(before, page.items)));
      },
      () => alive.current && setFailed(true),
    );
  }, [read]);
  useEffect(() => {
    alive.current = true;
    return () => {
      alive.current = false;
    };
  }, []);
  useEffect(look, [look, summaries]);
  const busy = loaded?.runs.some(works) === true;
  useEffect(() => {
    const timer = setInterval(
      () => {
        if (document.visibilityState === "visible") look();
      },
      busy ? BUSY_MS : IDLE_MS,
    );
    return () => clearInterval(timer);
  }, [busy, look]);
  const listed = new Set(loaded?.runs.map((run) => run.id));
  const newer = loaded === null ? 0 : newerThan(fresh?.runs ?? [], listed);
  return {
    runs: loaded?.runs ?? null,
    more: loaded?.next != null,
    // Where nothing is listed yet, nothing would jump.
    newer: loaded?.runs.length === 0 ? 0 : newer,
    failed,
    reload: look,
    showNew: () => setLoaded(fresh),
    loadMore: () => {
      const cursor = loaded?.next;
      if (cursor == null) return;
      read(cursor).then(
        (page) => setLoaded((before) => ({ runs: [...(before?.runs ?? []), ...page.items], next: page.next })),
        () => setFailed(true),
      );
    },
  };
}

/** Runs above the first that is listed. */
function newerThan(fresh: readonly RunRecord[], listed: ReadonlySet<string>): number {
  const known = fresh.findIndex((run) => listed.has(run.id));
  return known < 0 ? fresh.length : known;
}

/** What is listed, as it is now. An empty list takes what has come. */
function updated(before: Loaded, fresh: readonly RunRecord[]): Loaded {
  if (before.runs.length === 0) return { runs: [...fresh], next: before.next };
  const now = new Map(fresh.map((run) => [run.id, run]));
  return { ...before, runs: before.runs.map((run) => now.get(run.id) ?? run) };
}

import { useCallback, useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import type { Occurrence, ScheduleStatus } from "../api/types";
import * as server from "../client/endpoints";
import { newId } from "../client/ids";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useTexts } from "../parts/useTexts";
import { momentWords, scheduleWords } from "../run/scheduleWords";

const LOOK_AGAIN_MS = 10_000;
/** After a run was started: its end is soon. */
const SOON_MS = 1500;

/** Which agents run by themselves: when, what came of it last, and a hand to pause or start one. */
export function ScheduleList() {
  const { t } = useTexts();
  const { schedules, failed, look } = useSchedules();
  if (schedules === null) {
    return (
      <div className="scroll list-of-runs">
        {failed ? (
          <ErrorLine title={t("schedules.failed")} action={{ label: t("app.retry"), run: look }} />
        ) : (
          <Skeleton label={t("app.loading")} lines={2} groups={3} />
        )}
      </div>
    );
  }
  return (
    <div className="scroll list-of-runs">
      {failed && <ErrorLine title={t("schedules.failed")} action={{ label: t("app.retry"), run: look }} />}
      {schedules.length === 0 ? (
        <div className="empty">
          <b>{t("schedules.empty")}</b>
          {t("schedules.emptyHint")}
          <code className="command">
            planwerk profiles edit assistant --set schedule.cron=&quot;0 7 * * MON-FRI&quot; --set
            schedule.message=&quot;…&quot;
          </code>
        </div>
      ) : (
        <ul className="schedules" aria-label={t("schedules.title")}>
          {schedules.map((one) => (
            <Schedule key={one.profile} status={one} onChange={look} />
          ))}
        </ul>
      )}
    </div>
  );
}

function useSchedules() {
  const { locale } = useTexts();
  const [schedules, setSchedules] = useState<ScheduleStatus[] | null>(null);
  const [failed, setFailed] = useState(false);
  const alive = useRef(true);
  const look = useCallback(() => {
    server.listSchedules().then(
      (page) => {
        if (!alive.current) return;
        setFailed(false);
        setSchedules(page.items);
      },
      () => alive.current && setFailed(true),
    );
  }, []);
  useEffect(() => {
    alive.current = true;
    look();
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") look();
    }, LOOK_AGAIN_MS);
    return () => {
      alive.current = false;
      clearInterval(timer);
    };
  }, [look, locale]);
  return { schedules, failed, look };
}

function Schedule({ status, onChange }: { status: ScheduleStatus; onChange: () => void }) {
  const { t, locale } = useTexts();
  const { schedule, profile, profile_name: name } = status;
  const { busy, problem, act } = useActing(onChange);
  // One key for each start that is wanted: a second click before the answer is the same start.
  const key = useRef(newId());
  const runNow = () =>
    act(async () => {
      await server.runSchedule(profile, key.current);
      key.current = newId();
      setTimeout(onChange, SOON_MS);
    });
  const next = schedule.next[0];
  return (
    <li className="schedule">
      <div className="about">
        <b>{name}</b>
        <span>{scheduleWords(schedule, t, locale)}</span>
        <span className="faint small">
          {schedule.enabled
            ? next !== undefined && t("schedules.next", { time: momentWords(next, schedule.zone, locale) })
            : t("schedules.paused")}
          <Last status={status} />
          <Link to={`/runs?scheduled=1&profile=${encodeURIComponent(profile)}`}>{t("schedules.allRuns")}</Link>
        </span>
      </div>
      <div className="acts">
        <button
          type="button"
          className="button quiet"
          disabled={busy}
          aria-label={t(schedule.enabled ? "schedules.pauseOf" : "schedules.resumeOf", { profile: name })}
          onClick={() => act(() => server.letScheduleRun(profile, !schedule.enabled))}
        >
          <Icon name={schedule.enabled ? "pause" : "play"} />
          {t(schedule.enabled ? "schedules.pause" : "schedules.resume")}
        </button>
        <button
          type="button"
          className="button"
          disabled={busy}
          aria-label={t("schedules.runNowOf", { profile: name })}
          onClick={runNow}
        >
          {t("schedules.runNow")}
        </button>
      </div>
      {schedule.problem !== null && <ErrorLine title={t("schedules.notKept")}>{schedule.problem}</ErrorLine>}
      {problem !== null && <ErrorLine title={t("schedules.notDone")}>{problem}</ErrorLine>}
    </li>
  );
}

/** Does what a button asks for, one thing at a time. */
function useActing(onChange: () => void) {
  const { t, locale } = useTexts();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const act = (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(null);
    work()
      .then(onChange, (error: unknown) => setProblem(explain(error, t, locale)))
      .finally(() => setBusy(false));
  };
  return { busy, problem, act };
}

type Came = "running" | "waiting" | "completed" | "failed" | "stopped" | "skipped" | "missed";

const LOOKS: Record<Came, [IconName, string]> = {
  running: ["work", "working"],
  waiting: ["wait", "wait"],
  completed: ["done", "ok"],
  failed: ["failed", "fail"],
  stopped: ["halt", ""],
  skipped: ["next", ""],
  missed: ["alert", "wait"],
};

function cameOf(occurrence: Occurrence): Came {
  if (occurrence.outcome !== "started") return occurrence.outcome;
  const known = Object.keys(LOOKS) as Came[];
  return known.find((one) => one === occurrence.status) ?? "running";
}

/** What came of the newest occurrence; of one that was run, the way to its run. */
function Last({ status: { recent, schedule } }: { status: ScheduleStatus }) {
  const { t, locale } = useTexts();
  const last = recent[0];
  if (last === undefined) return <span>{t("schedules.never")}</span>;
  const came = cameOf(last);
  const [icon, look] = LOOKS[came];
  const time = momentWords(last.time, schedule.zone, locale);
  const told = (
    <>
      <Icon name={icon} className={came === "running" ? "turning" : ""} />
      {t(`schedules.came.${came}`, { time })}
    </>
  );
  const hint = last.by !== null ? t("schedules.byHand", { name: last.by }) : undefined;
  return last.run === null ? (
    <span className={`state ${look}`}>{told}</span>
  ) : (
    <Link className={`state ${look}`} to={`/runs/${last.run}`} title={hint}>
      {told}
    </Link>
  );
}

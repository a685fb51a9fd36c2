import { useState } from "react";
import { Link } from "react-router";
import type { ScheduleFailure } from "../api/types";
import { dayAndClock } from "../i18n/format";
import { ErrorLine } from "../parts/ErrorLine";
import { cause, explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { putAway } from "../store/inbox";

/** Schedules whose runs failed: to be looked at, and then put away (U5). */
export function Failures({ failures }: { failures: readonly ScheduleFailure[] }) {
  const { t, locale } = useTexts();
  const [problem, setProblem] = useState<string | null>(null);
  const dismiss = (failure: ScheduleFailure) => {
    setProblem(null);
    putAway(failure).catch((error: unknown) => setProblem(explain(error, t, locale)));
  };
  if (failures.length === 0) return null;
  return (
    <section aria-label={t("inbox.failures")} className="failures">
      <h2 className="when-head">{t("inbox.failures")}</h2>
      <ol className="waits">
        {failures.map((failure) => (
          <Failure key={failure.run} failure={failure} onDismiss={() => dismiss(failure)} />
        ))}
      </ol>
      {problem !== null && <ErrorLine title={t("inbox.notPutAway")}>{problem}</ErrorLine>}
    </section>
  );
}

function Failure({ failure, onDismiss }: { failure: ScheduleFailure; onDismiss: () => void }) {
  const { t, locale } = useTexts();
  const time = dayAndClock(failure.time, locale);
  const name = failure.profile_name;
  return (
    <li className="wait-item failure">
      <Icon name="alert" />
      <div className="body">
        <span className="sentence">
          {t("inbox.failedOf", { profile: name, count: failure.failures, time })}
        </span>
        <span className="meta">{cause(failure.error, t)}</span>
        <span className="acts">
          <Link className="text-button accent" to={`/runs/${failure.run}`} aria-label={t("inbox.openRunOf", { profile: name })}>
            {t("inbox.openRun")}
          </Link>
          <button
            type="button"
            className="text-button"
            aria-label={t("inbox.dismissOf", { profile: name })}
            onClick={onDismiss}
          >
            {t("inbox.dismiss")}
          </button>
        </span>
      </div>
    </li>
  );
}

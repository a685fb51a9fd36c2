import { memo, useMemo } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import type { ThreadSummary } from "../api/types";
import { clock, dayOfMonth } from "../i18n/format";
import { sortedRows } from "../log/summaries";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useTexts } from "../parts/useTexts";
import { useInbox } from "../store/inbox";
import { usePreferences } from "../store/preferences";
import { loadMoreThreads, loadThreads, useView } from "../store/view";
import { groupByDay, type Group } from "./grouping";

export function ThreadList() {
  const { t } = useTexts();
  const change = usePreferences((state) => state.change);
  return (
    <section className="list" aria-label={t("list.title")}>
      <header>
        <h2>{t("list.title")}</h2>
        <Link className="icon-button push" to="/" aria-label={t("nav.newChat")} title={t("nav.newChat")}>
          <Icon name="write" />
        </Link>
        <button
          type="button"
          className="icon-button fold-button"
          aria-label={t("list.fold")}
          title={t("list.fold")}
          onClick={() => change({ listFolded: true })}
        >
          <Icon name="fold" />
        </button>
      </header>
      <div className="scroll">
        <Rows />
      </div>
    </section>
  );
}

function Rows() {
  const { t, locale } = useTexts();
  const summaries = useView((state) => state.summaries);
  const loading = useView((state) => state.listLoading);
  const more = useView((state) => state.nextThreads !== null);
  const open = useInbox((state) => state.inbox.open);
  const groups = useMemo(() => {
    const needed = new Set(Object.values(open).map((request) => request.thread ?? ""));
    return groupByDay(sortedRows(summaries), new Date(), locale, needed);
  }, [summaries, locale, open]);
  if (groups.length === 0) return <NoRows loading={loading} />;
  return (
    <>
      {groups.map((group) => (
        <DayGroup key={group.key} group={group} />
      ))}
      {more && (
        <button type="button" className="button quiet more" onClick={() => void loadMoreThreads().catch(() => undefined)}>
          {t("list.more")}
        </button>
      )}
    </>
  );
}

function NoRows({ loading }: { loading: string }) {
  const { t } = useTexts();
  const navigate = useNavigate();
  if (loading === "loading") return <Skeleton label={t("app.loading")} lines={2} groups={4} />;
  if (loading === "failed") {
    const action = { label: t("app.retry"), run: () => void loadThreads() };
    return (
      <div className="empty">
        <ErrorLine title={t("list.failed")} action={action} />
      </div>
    );
  }
  const ask = () => {
    void navigate("/");
    document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
  };
  return (
    <div className="empty">
      <b>{t("list.empty")}</b>
      {t("list.emptyHint")}
      <div>
        <button type="button" className="button" onClick={ask}>
          {t("list.emptyButton")}
        </button>
      </div>
    </div>
  );
}

function DayGroup({ group }: { group: Group }) {
  const { t } = useTexts();
  const { pathname } = useLocation();
  const name = typeof group.name === "string" ? t(`list.${group.name}`) : group.name.month;
  const withClock = ["waiting", "today", "yesterday"].includes(group.key);
  return (
    <>
      <h3>{name}</h3>
      {group.rows.map((row) => (
        <Row
          key={row.id}
          row={row}
          needsYou={group.key === "waiting"}
          withClock={withClock}
          current={pathname === `/threads/${row.id}`}
        />
      ))}
    </>
  );
}

const STATES: Record<string, [IconName, string]> = {
  working: ["work", "working"],
  waiting: ["wait", ""],
  needsYou: ["wait", "wait"],
  failed: ["failed", "fail"],
  stopped: ["halt", ""],
};

interface RowProps {
  row: ThreadSummary;
  needsYou: boolean;
  withClock: boolean;
  current: boolean;
}

const Row = memo(function Row({ row, needsYou, withClock, current }: RowProps) {
  const { t, locale } = useTexts();
  const profile = useView((state) => state.profiles?.find((one) => one.id === row.profile)?.name);
  const who = row.profile_name ?? profile ?? "";
  const when = withClock ? clock(row.updated, locale) : dayOfMonth(row.updated, locale);
  const status = needsYou ? "needsYou" : (row.last_status ?? "completed");
  const state = STATES[status];
  return (
    <Link className="row" to={`/threads/${row.id}`} {...(current ? { "aria-current": "page" as const } : {})}>
      <b>{row.title ?? t("list.untitled")}</b>
      <span className="meta">
        <span className="words">{[who, when].filter((one) => one !== "").join(" · ")}</span>
        {state !== undefined && (
          <span className={`state ${state[1]}`}>
            <Icon name={state[0]} className={status === "working" ? "turning" : ""} />
            {t(`state.${status}`)}
          </span>
        )}
      </span>
    </Link>
  );
});

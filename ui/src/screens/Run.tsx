import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type CSSProperties, type KeyboardEvent, type ReactNode } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import type { Envelope, PersonRequest, Replay, RunGraph, RunRecord } from "../api/types";
import * as server from "../client/endpoints";
import { Refused } from "../client/http";
import { clock, count, dayAndClock, money, span, wholeSeconds } from "../i18n/format";
import { isWaiting, runModel, type RunModel } from "../log/run";
import { Choice } from "../parts/Choice";
import { writeClipboard } from "../parts/clipboard";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useNow } from "../parts/useNow";
import { useTexts } from "../parts/useTexts";
import { move, NOTHING_SELECTED, selectEvent, selectExecution, type Move, type Selection } from "../run/chain";
import { ChatPane } from "../run/ChatPane";
import { ForkDialog } from "../run/ForkDialog";
import { Graph } from "../run/Graph";
import { Inspector } from "../run/Inspector";
import { FIRST, lastForkPosition, momentOf, selectionAt } from "../run/scrub";
import { Scrubber } from "../run/Scrubber";
import { Timeline } from "../run/Timeline";
import { useAskers } from "../requests/useAskers";
import { askedBy } from "../requests/words";
import { useInbox } from "../store/inbox";
import { useSession } from "../store/session";
import { loadJournal, useView, watchRun } from "../store/view";
import "../styles/run.css";

const NOTHING: readonly Envelope[] = [];

export function RunScreen() {
  const { id = "" } = useParams();
  return <OneRun key={id} id={id} />;
}

interface Loaded {
  record: RunRecord;
  graph: RunGraph;
}

function OneRun({ id }: { id: string }) {
  const { t } = useTexts();
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    watchRun(id);
    void loadJournal(id);
    Promise.all([server.readRun(id), server.readGraph(id)]).then(
      ([record, graph]) => setLoaded({ record, graph }),
      (reason: unknown) => setError(reason),
    );
    return () => watchRun(null);
  }, [id]);
  if (error !== null) {
    const missing = error instanceof Refused && error.status === 404;
    return (
      <main className="work" id="work">
        <div className="page-state">
          <p>{missing ? t("run.missing") : t("run.failed")}</p>
          <Link className="button" to="/">
            {t("thread.missingButton")}
          </Link>
        </div>
      </main>
    );
  }
  if (loaded === null) {
    return (
      <main className="work run" id="work">
        <header className="bar" />
        <div className="page-state">
          <Skeleton label={t("app.loading")} />
        </div>
      </main>
    );
  }
  return <Loaded id={id} loaded={loaded} />;
}

function Loaded({ id, loaded: { record, graph } }: { id: string; loaded: Loaded }) {
  const { t } = useTexts();
  const entries = useView((state) => state.view.journals[id]?.entries ?? NOTHING);
  const model = runModel(entries);
  const over = model.ended !== null || (entries.length === 0 && record.ended !== null);
  const now = useNow(!over);
  const [selection, select] = useState<Selection>(NOTHING_SELECTED);
  const [at, setAt] = useState<number | null>(null);
  const [forking, setForking] = useState(false);
  const shown = useMemo(() => momentOf(entries, at), [entries, at]);
  const stepTo = useCallback(
    (to: number | null) => {
      setAt(to);
      const found = selectionAt(entries, to ?? entries.length);
      if (found !== null) select(found);
    },
    [entries],
  );
  const { asChat, choice } = useLook();
  const lastFork = lastForkPosition(entries);
  const panes = useRef<HTMLDivElement>(null);
  const walked = useRef(false);
  useLayoutEffect(() => {
    if (!walked.current) return;
    walked.current = false;
    const pane = document.activeElement?.closest(".pane");
    pane?.querySelector<HTMLElement>("[data-selected='true']")?.focus();
  }, [selection]);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const direction = MOVES[event.key];
    const target = event.target as Element;
    if (direction === undefined || target.closest(".node, .lane, .chain, .journal, .scroll") === null) return;
    event.preventDefault();
    walked.current = true;
    select(move(shown.model, selection, direction));
  };
  const profile = record.profile_name ?? model.profileName ?? record.profile ?? record.blueprint;
  return (
    <main className="work run" id="work" aria-labelledby="title">
      <Bar
        id={id}
        record={record}
        model={model}
        title={t("run.run", { profile })}
        over={over}
        onFork={lastFork === null ? null : () => setForking(true)}
      />
      <Facts record={record} model={model} now={now} over={over} profile={profile} />
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions -- arrow keys of the focused step within */}
      <div className="panes" style={roomFor(graph)} ref={panes} onKeyDown={onKeyDown}>
        {asChat ? (
          <ChatPane model={shown.model} choice={choice} />
        ) : (
          <Graph
            graph={graph}
            model={shown.model}
            now={shown.time ?? now}
            selected={selection.execution}
            choice={choice}
            onSelect={(execution) => select(selectExecution(shown.model, execution))}
          />
        )}
        <Timeline
          model={shown.model}
          whole={model}
          now={shown.time ?? now}
          selection={selection}
          onExecution={(execution) => select(selectExecution(shown.model, execution))}
        />
        <Inspector
          run={id}
          model={shown.model}
          entries={shown.entries}
          count={entries.length}
          selection={selection}
          onEvent={(position) => select(selectEvent(shown.model, position))}
        />
      </div>
      <Scrubber entries={entries} at={at} onMove={stepTo}>
        {lastFork !== null && (
          <button
            type="button"
            className="icon-button tight-only"
            aria-label={t("run.fork")}
            title={t("run.fork")}
            onClick={() => setForking(true)}
          >
            <Icon name="fork" />
          </button>
        )}
      </Scrubber>
      {forking && lastFork !== null && (
        <ForkDialog
          record={record}
          entries={entries}
          position={Math.max(FIRST, Math.min(selection.position ?? at ?? lastFork, lastFork))}
          last={lastFork}
          onClose={() => setForking(false)}
        />
      )}
    </main>
  );
}

/** The graph, or the chat in its place; the address says which. */
function useLook(): { asChat: boolean; choice: ReactNode } {
  const { t } = useTexts();
  const [query, setQuery] = useSearchParams();
  const asChat = query.get("view") === "chat";
  const options = [
    { value: "graph", label: t("run.graph") },
    { value: "chat", label: t("run.chat") },
  ] as const;
  const look = (value: "graph" | "chat") => setQuery(value === "chat" ? { view: "chat" } : {}, { replace: true });
  const value = asChat ? "chat" : "graph";
  return { asChat, choice: <Choice label={t("run.look")} kind="radio" options={options} value={value} onChange={look} /> };
}

/** The timeline has room for a row of each step from the first, so that nothing moves while a run grows. */
function roomFor(graph: RunGraph): CSSProperties {
  const rows = graph.nodes.filter((node) => node.kind === "step").length;
  return { "--rows": rows } as CSSProperties;
}

const MOVES: Record<string, Move | undefined> = {
  ArrowLeft: "cause",
  ArrowRight: "effect",
  ArrowUp: "before",
  ArrowDown: "after",
};

interface BarProps {
  id: string;
  record: RunRecord;
  model: RunModel;
  title: string;
  over: boolean;
  onFork: (() => void) | null;
}

const STATES: Record<string, [IconName, string]> = {
  working: ["work", "working"],
  waiting: ["wait", ""],
  needsYou: ["wait", "wait"],
  queued: ["wait", ""],
  completed: ["done", "ok"],
  failed: ["failed", "fail"],
  stopped: ["halt", ""],
};

function Bar({ id, record, model, title, over, onFork }: BarProps) {
  const { t, locale } = useTexts();
  const [stopping, setStopping] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [testError, setTestError] = useState<unknown>(null);
  const open = useInbox((state) => state.inbox.open);
  const asked = over ? [] : Object.values(open).filter((one) => one.run === id);
  const known = over ? (model.status ?? record.status) : standing(model, asked.length > 0);
  const { replayed, replaying, replay } = useReplay(id);
  const [icon, look] = STATES[known] ?? ["work", "working"];
  const stop = () => {
    setStopping(true);
    setError(null);
    server.stopRun(id).catch((reason: unknown) => {
      setStopping(false);
      setError(reason);
    });
  };
  return (
    <>
      <header className="bar">
        <Link
          className="icon-button"
          to={record.thread === null ? "/runs" : `/threads/${record.thread}`}
          aria-label={record.thread === null ? t("run.all") : t("run.back")}
          title={record.thread === null ? t("run.all") : t("run.back")}
        >
          <Icon name="left" />
        </Link>
        <h1 id="title">{title}</h1>
        <span className={`state ${look}`} role="status">
          <Icon name={icon} className={known === "working" ? "turning" : ""} />
          {stopping && !over ? t("state.stopping") : t(`state.${known === "running" ? "working" : known}`)}
        </span>
        <div className="end">
          {onFork !== null && (
            <button type="button" className="button quiet roomy-only" onClick={onFork}>
              <Icon name="fork" />
              {t("run.fork")}
            </button>
          )}
          {over && <CopyTest id={id} onError={setTestError} />}
          {over && (
            <button type="button" className="button quiet replay" aria-disabled={replaying} onClick={replay}>
              <Icon name="again" />
              <span>{replaying ? t("run.replaying") : t("run.replay")}</span>
            </button>
          )}
          {!over && (
            <button type="button" className="button" aria-disabled={stopping} onClick={stop}>
              <Icon name="stop" />
              {t("run.stop")}
            </button>
          )}
        </div>
      </header>
      {error !== null && (
        <div className="bar-note">
          <ErrorLine title={t("run.stopFailed")}>{explain(error, t, locale)}</ErrorLine>
        </div>
      )}
      {testError !== null && (
        <div className="bar-note">
          <ErrorLine title={t("run.testFailed")}>{explain(testError, t, locale)}</ErrorLine>
        </div>
      )}
      {asked.map((request) => (
        <Asked key={request.id} request={request} />
      ))}
      {replayed !== null && <Replayed result={replayed} />}
      {model.error !== null && model.status === "failed" && (
        <div className="bar-note">
          <ErrorLine title={model.error.message}>{model.error.what_to_do}</ErrorLine>
        </div>
      )}
    </>
  );
}

/** Puts the source of a test on the clipboard, for those who build agents. */
function CopyTest({ id, onError }: { id: string; onError: (error: unknown) => void }) {
  const { t } = useTexts();
  const role = useSession((state) => state.session?.role);
  const [copied, setCopied] = useState(false);
  const [busy, setBusy] = useState(false);
  if (role === "member") return null;
  const copy = () => {
    if (busy) return;
    setBusy(true);
    onError(null);
    server
      .readRunTest(id)
      .then(({ source }) => writeClipboard(source))
      .then(() => setCopied(true), onError)
      .finally(() => setBusy(false));
  };
  return (
    <button type="button" className="button quiet roomy-only" aria-disabled={busy} onClick={copy}>
      <Icon name={copied ? "check" : "copy"} />
      {t(copied ? "run.testCopied" : "run.copyTest")}
    </button>
  );
}

/** What a run that is not over does: while a step works, it works; else it waits for what was asked. */
function standing(model: RunModel, needsYou: boolean): "working" | "waiting" | "needsYou" {
  if (model.executions.some((one) => one.status === "working") || !model.executions.some(isWaiting)) return "working";
  return needsYou ? "needsYou" : "waiting";
}

/** What waits for the reader, and the way to where it is answered. */
function Asked({ request }: { request: PersonRequest }) {
  const { t } = useTexts();
  const [before, name, after] = askedBy(useAskers()(request), t);
  return (
    <div className="bar-note wait" role="note">
      <Icon name="wait" className="s" />
      <span>
        {before}
        {name}
        {after} {request.question}{" "}
        <Link to={request.thread === null ? "/inbox" : `/threads/${request.thread}`}>
          {t(request.thread === null ? "run.answerInInbox" : "run.answerInChat")}
        </Link>
      </span>
    </div>
  );
}

type ReplayResult = Replay | { error: unknown };

function useReplay(id: string) {
  const [replayed, setReplayed] = useState<ReplayResult | null>(null);
  const [replaying, setReplaying] = useState(false);
  const replay = () => {
    if (replaying) return;
    setReplaying(true);
    server
      .replayRun(id)
      .then(setReplayed, (error: unknown) => setReplayed({ error }))
      .finally(() => setReplaying(false));
  };
  return { replayed, replaying, replay };
}

/** Whether the rules would decide the same again; nothing was executed to find out. */
function Replayed({ result }: { result: ReplayResult }) {
  const { t, locale } = useTexts();
  if ("error" in result) {
    return (
      <div className="bar-note">
        <ErrorLine title={t("run.replayFailed")}>{explain(result.error, t, locale)}</ErrorLine>
      </div>
    );
  }
  const { divergence, entries } = result;
  if (divergence === null) {
    return (
      <p className="bar-note calm" role="status" aria-label={t("run.replay")}>
        <span className="state ok">
          <Icon name="done" />
          {t("run.replayedSame", { count: entries })}
        </span>
      </p>
    );
  }
  const { position, expected, found } = divergence;
  return (
    <div className="bar-note">
      <ErrorLine title={t("run.diverges", { position })}>{t("run.divergence", { expected, found })}</ErrorLine>
    </div>
  );
}

interface FactsProps {
  record: RunRecord;
  model: RunModel;
  now: number;
  over: boolean;
  profile: string;
}

function Facts({ record, model, now, over, profile }: FactsProps) {
  const { t, locale } = useTexts();
  const usage = model.usage ?? record.usage;
  const cost = model.cost ?? (record.cost === null ? null : Number(record.cost));
  const started = model.opened ?? (record.started === null ? null : Date.parse(record.started));
  const seconds = model.seconds ?? ((model.ended ?? now) - (started ?? now)) / 1000;
  const by = useMemo(() => record.started_by?.name ?? null, [record]);
  return (
    <dl className="facts" aria-label={t("run.about")}>
      <Fact name={t("run.agent")}>
        <span className="who plain">
          <Icon name="agent" />
          {profile} <span className="v">v{record.profile_version}</span>
        </span>
      </Fact>
      {record.thread !== null && (
        <Fact name={t("run.thread")}>
          <ThreadLink id={record.thread} />
        </Fact>
      )}
      {record.parent_run != null && (
        <Fact name={t("run.askedBy")}>
          <Link to={`/runs/${record.parent_run}`}>{t("run.parent")}</Link>
        </Fact>
      )}
      {record.forked_from != null && (
        <Fact name={t("run.forkedFrom")}>
          <Link to={`/runs/${record.forked_from}`}>{t("run.forkedAt", { position: record.forked_at ?? 0 })}</Link>{" · "}
          <Link to={`/runs/compare?a=${record.forked_from}&b=${record.id}`}>{t("compare.withOriginal")}</Link>
        </Fact>
      )}
      {started !== null && (
        <Fact name={t("run.started")}>
          {by === null ? clock(started, locale) : t("run.startedBy", { name: by, time: clock(started, locale) })}
        </Fact>
      )}
      <Fact name={t("run.worked")}>{over ? span(Math.max(0, seconds), locale) : wholeSeconds(seconds, locale)}</Fact>
      {usage !== null && <Fact name={t("run.tokens")}>{count(usage.input_tokens + usage.output_tokens, locale)}</Fact>}
      {cost !== null && cost > 0 && <Fact name={t("run.cost")}>{money(cost, locale)}</Fact>}
      {record.expires !== null && <Fact name={t("run.keptUntil")}>{dayAndClock(record.expires, locale)}</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function ThreadLink({ id }: { id: string }) {
  const { t } = useTexts();
  const title = useView((state) => state.summaries.rows[id]?.title ?? state.view.threads[id]?.title);
  return <Link to={`/threads/${id}`}>{title ?? t("list.untitled")}</Link>;
}

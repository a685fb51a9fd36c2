import { useEffect, useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { Envelope, RunRecord } from "../api/types";
import * as server from "../client/endpoints";
import { count, money, span } from "../i18n/format";
import { runModel, type RunModel } from "../log/run";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useNow } from "../parts/useNow";
import { useTexts } from "../parts/useTexts";
import { pairsOf, type Difference, type Pair, type Side } from "../run/comparing";
import { loadJournal, useView } from "../store/view";
import "../styles/compare.css";

const NOTHING: readonly Envelope[] = [];
const SHOWN_DIFFERENCES = 40;
const LONG_TEXT = 600;

/** Two runs, step beside step; which, stands in the address. */
export function CompareScreen() {
  const { t } = useTexts();
  const [query] = useSearchParams();
  const ids: [string, string] = [query.get("a") ?? "", query.get("b") ?? ""];
  return (
    <main className="work compare" id="work" aria-labelledby="title">
      <header className="bar">
        <Link className="icon-button" to="/runs" aria-label={t("run.all")} title={t("run.all")}>
          <Icon name="left" />
        </Link>
        <h1 id="title">{t("compare.title")}</h1>
      </header>
      {ids.includes("") ? <p className="page-state">{t("compare.choose")}</p> : <Compared key={ids.join()} ids={ids} />}
    </main>
  );
}

function Compared({ ids: [a, b] }: { ids: [string, string] }) {
  const { t } = useTexts();
  const [records, setRecords] = useState<[RunRecord, RunRecord] | null>(null);
  const [failed, setFailed] = useState(false);
  const [tries, setTries] = useState(0);
  const first = useView((state) => state.view.journals[a]?.entries ?? NOTHING);
  const second = useView((state) => state.view.journals[b]?.entries ?? NOTHING);
  useEffect(() => {
    Promise.all([server.readRun(a), server.readRun(b), loadJournal(a), loadJournal(b)]).then(
      ([one, other]) => setRecords([one, other]),
      () => setFailed(true),
    );
  }, [a, b, tries]);
  const again = () => {
    setFailed(false);
    setTries(tries + 1);
  };
  const now = useNow(records?.some((one) => one.ended === null) === true);
  if (failed) return <ErrorLine title={t("compare.failed")} action={{ label: t("app.retry"), run: again }} />;
  if (records === null) return <Skeleton label={t("app.loading")} groups={3} />;
  const models: [RunModel, RunModel] = [runModel(first), runModel(second)];
  const pairs = pairsOf(...models, now);
  const different = pairs.filter(isDifferent).length;
  return (
    <div className="scroll compared">
      <div className="side-by-side side-heads">
        <Head record={records[0]} model={models[0]} now={now} letter="A" />
        <Head record={records[1]} model={models[1]} now={now} letter="B" />
      </div>
      <p className="small soft" role="status">
        {different === 0 ? t("compare.same") : t("compare.differ", { count: different })}
      </p>
      <ul className="step-pairs" aria-label={t("compare.steps")}>
        {pairs.map((pair) => (
          <PairView key={pair.key} pair={pair} />
        ))}
      </ul>
    </div>
  );
}

const isDifferent = (pair: Pair) =>
  pair.first === null ||
  pair.second === null ||
  pair.differences.length > 0 ||
  pair.first.execution.status !== pair.second.execution.status;

function Head({ record, model, now, letter }: { record: RunRecord; model: RunModel; now: number; letter: string }) {
  const { t, locale } = useTexts();
  const profile = record.profile_name ?? record.profile ?? record.blueprint;
  const title = record.title == null || record.title === "" ? t("runs.untitled", { profile }) : record.title;
  const usage = model.usage ?? record.usage;
  const cost = model.cost ?? (record.cost === null ? null : Number(record.cost));
  const started = record.started === null ? now : Date.parse(record.started);
  const seconds = ((record.ended === null ? now : Date.parse(record.ended)) - started) / 1000;
  const known = model.status ?? record.status;
  const facts = [
    t(`state.${known === "running" ? "working" : known}`),
    span(Math.max(0, seconds), locale),
    usage === null ? "" : t("compare.tokens", { count: count(usage.input_tokens + usage.output_tokens, locale) }),
    cost === null || cost === 0 ? "" : money(cost, locale),
  ];
  return (
    <div>
      <span className="letter" aria-hidden="true">
        {letter}
      </span>
      <span>
        <Link to={`/runs/${record.id}`}>{title}</Link>
        <span className="small soft">
          {profile} v{record.profile_version} · {facts.filter((one) => one !== "").join(" · ")}
        </span>
      </span>
    </div>
  );
}

function PairView({ pair }: { pair: Pair }) {
  const { t } = useTexts();
  const { differences } = pair;
  return (
    <li>
      <div className="step-line">
        <span className="mono">{pair.step}</span>
        <span className="small soft">{t(`compare.${verdictOf(pair)}`, { count: differences.length })}</span>
      </div>
      <div className="side-by-side">
        <SideView side={pair.first} letter="A" />
        <SideView side={pair.second} letter="B" />
      </div>
      {differences.length > 0 && (
        <details>
          <summary className="small">{t("compare.show")}</summary>
          <ul className="differences">
            {differences.slice(0, SHOWN_DIFFERENCES).map((one) => (
              <DifferenceView key={one.path} difference={one} />
            ))}
          </ul>
          {differences.length > SHOWN_DIFFERENCES && (
            <p className="small faint">{t("compare.more", { count: differences.length - SHOWN_DIFFERENCES })}</p>
          )}
        </details>
      )}
    </li>
  );
}

function verdictOf(pair: Pair): "onlyA" | "onlyB" | "state" | "outputs" | "alike" {
  if (pair.second === null) return "onlyA";
  if (pair.first === null) return "onlyB";
  if (pair.differences.length > 0) return "outputs";
  return isDifferent(pair) ? "state" : "alike";
}

function SideView({ side, letter }: { side: Side | null; letter: string }) {
  const { t, locale } = useTexts();
  if (side === null) return <span className="side-track none">{t("compare.none", { run: letter })}</span>;
  const { status } = side.execution;
  const word = t(status === "failed" ? "run.failedWord" : status === "dropped" ? "run.dropped" : `run.${status}`);
  const took = span(Math.max(0, side.seconds), locale);
  return (
    <span className="side-track" role="img" aria-label={t("compare.took", { run: letter, state: word, time: took })}>
      <i className={status} style={{ left: `${side.left}%`, width: `${side.width}%` }} />
      <span className="small faint">{took}</span>
    </span>
  );
}

function DifferenceView({ difference }: { difference: Difference }) {
  const { t } = useTexts();
  const cut = (text: string | null) =>
    text === null ? t("compare.missing") : text.length > LONG_TEXT ? `${text.slice(0, LONG_TEXT)}…` : text;
  return (
    <li>
      <span className="mono small faint">{difference.path}</span>
      <div className="side-by-side">
        <del className={difference.first === null ? "none" : ""}>{cut(difference.first)}</del>
        <ins className={difference.second === null ? "none" : ""}>{cut(difference.second)}</ins>
      </div>
    </li>
  );
}

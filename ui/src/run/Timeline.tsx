import { useState, type CSSProperties } from "react";
import { span } from "../i18n/format";
import type { RunModel } from "../log/run";
import { Choice } from "../parts/Choice";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useTexts } from "../parts/useTexts";
import type { Selection } from "./chain";
import { STATUS_ICONS, stateWord } from "./Graph";
import { useInView } from "./useInView";
import { timelineOf, type Bar, type Lane } from "./lanes";
import { LARGEST_ZOOM, useZoom, zoomedIn, zoomedOut } from "./useZoom";

interface TimelineProps {
  model: RunModel;
  /** The whole run, of which the model may be the beginning. */
  whole: RunModel;
  now: number;
  selection: Selection;
  onExecution: (id: string) => void;
}

/** As wide as the whole run. */
const TRACK = ".axis";
/** Where what is chosen begins. */
const CHOSEN = ".lane[aria-current] .span";

export function Timeline({ model, whole, now, selection, onExecution }: TimelineProps) {
  const { t, locale } = useTexts();
  const [rows, setRows] = useState<"compact" | "full">("compact");
  const { zoom, from, area, to, onScroll, onKeyDown } = useZoom(TRACK, CHOSEN);
  const view = timelineOf(model, now, rows === "full", whole, { zoom, from });
  const mark = (seconds: number) => {
    if (seconds === 0) return "0";
    if (zoom === 1 && (seconds < 0.01 || seconds >= 60)) return span(seconds, locale);
    return `${seconds.toLocaleString(locale, { maximumFractionDigits: 4 })} s`;
  };
  return (
    <section className="pane at-time" aria-label={t("run.timeline")}>
      <header>
        <h2>{t("run.timeline")}</h2>
        <Choice
          label={t("run.rows")}
          kind="radio"
          options={[
            { value: "compact", label: t("run.compact") },
            { value: "full", label: t("run.full") },
          ]}
          value={rows}
          onChange={setRows}
        />
        <div className="zoom">
          <IconButton name="minus" label={t("run.timeOut")} off={zoom === 1} onClick={() => to(zoomedOut(zoom))} />
          <IconButton name="plus" label={t("run.timeIn")} off={zoom === LARGEST_ZOOM} onClick={() => to(zoomedIn(zoom))} />
          <IconButton name="fit" label={t("run.timeFit")} off={zoom === 1} onClick={() => to(1)} />
        </div>
        <Key />
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keys of the focused row within */}
      <div
        className={zoom === 1 ? "timeline" : "timeline near"}
        style={{ "--zoom": zoom } as CSSProperties}
        role="table"
        aria-label={t("run.timelineLabel")}
        ref={area}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        {view.lanes.length === 0 && <Skeleton label={t("app.loading")} lines={6} />}
        {view.lanes.length > 0 && (
          <div className="axis" aria-hidden="true">
            {view.marks.map(({ seconds, left }) => (
              <span key={seconds} style={{ left: `${left}%` }}>
                {mark(seconds)}
              </span>
            ))}
          </div>
        )}
        {view.lanes.map((lane) => (
          <LaneView
            key={lane.bars[0]?.execution.id ?? lane.step}
            lane={lane}
            current={lane.bars.some((bar) => bar.execution.id === selection.execution)}
            selection={selection}
            onExecution={onExecution}
          />
        ))}
      </div>
    </section>
  );
}

interface IconButtonProps {
  name: IconName;
  label: string;
  off: boolean;
  onClick: () => void;
}

function IconButton({ name, label, off, onClick }: IconButtonProps) {
  return (
    <button type="button" className="icon-button s" aria-label={label} title={label} aria-disabled={off} onClick={() => off || onClick()}>
      <Icon name={name} />
    </button>
  );
}

function Key() {
  const { t } = useTexts();
  return (
    <div className="legend wide-only" aria-hidden="true">
      <span>
        <i className="key work" />
        {t("run.works")}
      </span>
      <span>
        <i className="key model">
          <svg>
            <rect width="100%" height="100%" />
          </svg>
        </i>
        {t("run.waitsModel")}
      </span>
      <span>
        <i className="key people">
          <svg>
            <rect width="100%" height="100%" />
          </svg>
        </i>
        {t("run.waitsPeople")}
      </span>
      <span>
        <i className="key event" />
        {t("run.event")}
      </span>
    </div>
  );
}

interface LaneProps {
  lane: Lane;
  current: boolean;
  selection: Selection;
  onExecution: (id: string) => void;
}

function LaneView({ lane, current, selection, onExecution }: LaneProps) {
  const { t, locale } = useTexts();
  const ids = lane.bars.map((bar) => bar.execution.id);
  const select = () => {
    const next = ids[(ids.indexOf(selection.execution ?? "") + 1) % ids.length];
    if (next !== undefined) onExecution(next);
  };
  const state = stateWord(lane.status, t);
  const last = lane.bars.at(-1);
  const end = last === undefined ? 0 : Math.max(...[last, ...last.asks].map((one) => one.left + one.width));
  const line = useInView<HTMLDivElement>(current);
  return (
    <div
      ref={line}
      className="lane"
      role="row"
      tabIndex={0}
      data-selected={current}
      {...(current ? { "aria-current": "true" as const } : {})}
      onClick={select}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        select();
      }}
    >
      <span className={`label ${lane.called ? "in" : ""} ${lane.status}`} role="rowheader">
        <Icon name={STATUS_ICONS[lane.status]} className={lane.status === "working" ? "turning" : ""} />
        <span>{lane.step}</span>
        <span className="hidden">, {state}</span>
      </span>
      <span className="track" role="cell">
        {lane.bars.map((bar) => (
          <BarView key={bar.execution.id} bar={bar} />
        ))}
        {lane.ticks.map(({ position, left }) => (
          <span key={position} className={position === selection.position ? "tick now" : "tick"} style={{ left: `${left}%` }} />
        ))}
        <span className="note" style={end > 82 ? { right: `${100 - (last?.left ?? 0)}%` } : { left: `${end}%` }}>
          {span(lane.seconds, locale)}
        </span>
      </span>
    </div>
  );
}

function BarView({ bar: { execution, left, width, waits, asks } }: { bar: Bar }) {
  const failed = execution.status === "failed";
  return (
    <>
      <Span kind={failed ? "failed" : "work"} left={left} width={width} />
      {!failed && waits.map((wait) => <Span key={wait.left} kind="model" left={wait.left} width={wait.width} />)}
      {asks.map((ask) => (
        <Span key={ask.left} kind={ask.kind === "timer" ? "timer" : "people"} left={ask.left} width={ask.width} />
      ))}
    </>
  );
}

type SpanKind = "work" | "model" | "failed" | "people" | "timer";

/** Filled where it worked, hatched where it waited or failed. */
function Span({ kind, left, width }: { kind: SpanKind; left: number; width: number }) {
  return (
    <span className={`span ${kind}`} style={{ left: `${left}%`, width: `${width}%` }}>
      {kind !== "work" && (
        <svg aria-hidden="true">
          <rect width="100%" height="100%" />
        </svg>
      )}
    </span>
  );
}

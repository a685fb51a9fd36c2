import type { TFunction } from "i18next";
import { useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import type { RunGraph } from "../api/types";
import { span } from "../i18n/format";
import type { Execution, RunModel } from "../log/run";
import { Icon } from "../parts/Icon";
import type { IconName } from "../parts/Sprite";
import { useTexts } from "../parts/useTexts";
import { Canvas } from "./Canvas";
import { layOut, type Layout } from "./layout";
import { lineName, type Node } from "./node";
import { useInView } from "./useInView";
import { statusOf, type StepStatus } from "./lanes";

interface GraphProps {
  graph: RunGraph;
  model: RunModel;
  now: number;
  selected: string | null;
  onSelect: (execution: string) => void;
  /** What may be looked at in its place. */
  choice: ReactNode;
}

const ZOOMS = [0.5, 0.67, 0.8, 1, 1.25, 1.6];
type Status = StepStatus | "todo";
export const STATUS_ICONS: Record<Status, IconName> = {
  working: "work",
  waiting: "wait",
  done: "done",
  failed: "failed",
  dropped: "halt",
  todo: "todo",
};

export function Graph({ graph, model, now, selected, choice, onSelect }: GraphProps) {
  const { t } = useTexts();
  const layout = useMemo(() => layOut(graph), [graph]);
  const [zoom, setZoom] = useState<number | "whole">(1);
  const at = zoom === "whole" ? 1 : zoom;
  const step = (by: number) => setZoom(ZOOMS[Math.min(ZOOMS.length - 1, Math.max(0, ZOOMS.indexOf(at) + by))] ?? 1);
  const steps = useMemo(() => byStep(model.executions), [model]);
  const reached = useMemo(() => new Set(model.events.map((event) => shortName(event.type))), [model]);
  return (
    <section className="pane at-graph" aria-label={t("run.graph")}>
      <header>
        <h2 className="hidden">{t("run.graph")}</h2>
        {choice}
        <Legend />
        <div className="zoom">
          <ZoomButton icon="minus" label={t("run.smaller")} onClick={() => step(-1)} />
          <ZoomButton icon="plus" label={t("run.larger")} onClick={() => step(1)} />
          <ZoomButton icon="fit" label={t("run.fit")} onClick={() => setZoom("whole")} />
        </div>
      </header>
      <Canvas>
        <Drawing layout={layout} zoom={zoom} label={t("run.graphLabel")}>
          {layout.nodes.map((node) =>
            node.kind === "step" ? (
              <StepView
                key={node.id}
                node={node}
                executions={steps.get(node.id) ?? []}
                now={now}
                selected={selected}
                onSelect={onSelect}
              />
            ) : (
              <EndView key={node.id} node={node} reached={node.kind === "start" || reached.has(node.name)} />
            ),
          )}
          <Lines layout={layout} model={model} />
        </Drawing>
      </Canvas>
    </section>
  );
}

function Legend() {
  const { t } = useTexts();
  return (
    <div className="legend wide-only" aria-hidden="true">
      <span className="state">
        <Icon name="done" />
        {t("run.done")}
      </span>
      <span className="state working">
        <Icon name="work" />
        {t("run.working")}
      </span>
      <span className="state wait">
        <Icon name="wait" />
        {t("run.waitingFor")}
      </span>
      <span className="state fail">
        <Icon name="failed" />
        {t("run.failedWord")}
      </span>
      <span className="state">
        <Icon name="todo" />
        {t("run.todo")}
      </span>
    </div>
  );
}

function ZoomButton({ icon, label, onClick }: { icon: IconName; label: string; onClick: () => void }) {
  return (
    <button type="button" className="icon-button s" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

interface DrawingProps {
  layout: Layout;
  zoom: number | "whole";
  label: string;
  children: React.ReactNode;
}

/** As drawn, until the reader wants it larger, smaller, or whole. */
function Drawing({ layout: { width, height }, zoom, label, children }: DrawingProps) {
  const whole = { width: "100%", maxWidth: width, aspectRatio: `${width} / ${height}` };
  const style = zoom === "whole" ? whole : { width: width * zoom, height: height * zoom };
  return (
    <svg className="graph" style={style} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={label}>
      <defs>
        {["tip", "tip-todo"].map((id) => (
          <marker key={id} id={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M1 1l5.5 3L1 7" />
          </marker>
        ))}
      </defs>
      {children}
    </svg>
  );
}

function Lines({ layout, model }: { layout: Layout; model: RunModel }) {
  const kinds = new Map(layout.nodes.map((node) => [node.id, node.kind]));
  const walked = useMemo(() => walkedEdges(model), [model]);
  const lines = layout.edges.map((edge) => {
    const target = kinds.get(edge.target) === "stop" ? "" : edge.target;
    const source = kinds.get(edge.source) === "start" ? "" : edge.source;
    return { ...edge, todo: !walked.has(edgeKey(source, target, edge.event)) };
  });
  // Lines that were walked lie over those that were not.
  lines.sort((a, b) => Number(b.todo) - Number(a.todo));
  return (
    <>
      <g className="edges" aria-hidden="true">
        {lines.map(({ id, path, todo }) => (
          <path key={id} className={todo ? "todo" : ""} d={path} markerEnd={todo ? "url(#tip-todo)" : "url(#tip)"} />
        ))}
      </g>
      <g className="events" aria-hidden="true">
        {lines.map(({ id, source, label, event, todo }) =>
          label === null ? null : (
            <text key={id} className={todo ? "todo" : ""} x={label.x} y={label.y} textAnchor={label.anchor}>
              {kinds.get(source) === "start" ? shortName(event) : lineName(event)}
            </text>
          ),
        )}
      </g>
    </>
  );
}

interface NodeProps {
  node: Node;
  executions: readonly Execution[];
  now: number;
  selected: string | null;
  onSelect: (execution: string) => void;
}

/** Where the run begins, and where it may end. */
function EndView({ node, reached }: { node: Node; reached: boolean }) {
  const look = reached ? "" : " todo";
  return (
    <g aria-hidden="true">
      <g className="edges">
        <circle className={`end${look}`} cx={node.x + 4} cy={node.y + 4} r="3.5" />
      </g>
      {node.kind === "stop" && (
        <g className="events">
          <text className={look.trim()} x={node.x + 14} y={node.y + 8}>
            {node.name}
          </text>
        </g>
      )}
    </g>
  );
}

function StepView({ node, executions, now, selected, onSelect }: NodeProps) {
  const { t, locale } = useTexts();
  const status: Status = executions.length === 0 ? "todo" : statusOf(executions);
  const chosen = executions.some((one) => one.id === selected);
  const seconds = executions.reduce((sum, one) => sum + Math.max(0, (one.end ?? now) - one.due) / 1000, 0);
  const time = status === "todo" ? t("run.todo") : span(seconds, locale);
  const times = executions.length > 1 ? t("run.times", { count: executions.length }) : null;
  // Of a step that was not reached there is nothing to tell but that.
  const words = status === "todo" ? [time] : [node.group, time, times].filter((one) => one !== null);
  const state = stateWord(status, t);
  const select = () => {
    const at = executions.findIndex((one) => one.id === selected);
    const next = executions[(at + 1) % executions.length];
    if (next !== undefined) onSelect(next.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    select();
  };
  const look = { working: "live", waiting: "wait", done: "done", failed: "failed", dropped: "dropped", todo: "todo" }[status];
  const group = useInView<SVGGElement>(chosen);
  return (
    <g
      ref={group}
      className={`node ${look}${chosen ? " sel" : ""}`}
      tabIndex={0}
      role="button"
      aria-label={`${node.name} ${words.join(" · ")}${status === "todo" ? "" : `, ${state}`}`}
      aria-pressed={chosen}
      data-selected={chosen}
      onClick={select}
      onKeyDown={onKeyDown}
    >
      <rect x={node.x + 0.5} y={node.y + 0.5} width={node.w - 1} height={node.h - 1} rx="8" />
      <use href={`#i-${STATUS_ICONS[status]}`} x={node.x + 10} y={node.y + (node.lower ? 9 : 11)} width="14" height="14" />
      <text className="name" x={node.x + 30} y={node.y + (node.lower ? 20 : 22)}>
        {node.name}
      </text>{" "}
      <text className="sub" x={node.x + 10} y={node.y + (node.lower ? 38 : 40)}>
        {words.join(" · ")}
      </text>
    </g>
  );
}

export function stateWord(status: Status, t: TFunction): string {
  if (status === "failed") return t("run.failedWord");
  return status === "waiting" ? t("run.waitingFor") : t(`run.${status}`);
}

function byStep(executions: readonly Execution[]): Map<string, Execution[]> {
  const steps = new Map<string, Execution[]>();
  for (const one of executions) steps.set(one.step, [...(steps.get(one.step) ?? []), one]);
  return steps;
}

/** Which events went from which step to which; "" stands for the start and for the stop. */
function walkedEdges(model: RunModel): Set<string> {
  const steps = new Map(model.executions.map((one) => [one.id, one.step]));
  const makers = new Map(model.events.map((one) => [one.position, one.from]));
  const walked = new Set<string>();
  for (const { type, from, answers, takenBy } of model.events) {
    // An answer from outside came by the step that asked.
    const maker = from ?? makers.get(answers ?? 0) ?? null;
    const source = maker === null ? "" : (steps.get(maker) ?? "");
    walked.add(edgeKey(source, "", type));
    for (const taker of takenBy) walked.add(edgeKey(source, steps.get(taker) ?? "", type));
  }
  return walked;
}

function edgeKey(source: string, target: string, event: string): string {
  return `${source}>${target}>${shortName(event)}`;
}

/** "Conversation.Contextualized" is called by its own name where its step stands beside it. */
export function shortName(event: string): string {
  return event.split(".").at(-1) ?? event;
}

import { moment } from "../log/read";
import { isWaiting, type Execution, type RunModel } from "../log/run";

export interface Bar {
  execution: Execution;
  left: number;
  width: number;
  /** The parts of it, in percent of the run's time, in which it waited for a model. */
  waits: { left: number; width: number }[];
  /** The parts of the track after it in which what it asked was waited for. */
  asks: { left: number; width: number; kind: "person" | "timer" }[];
}

/** How a step stands: as its executions do, or it asked and waits. */
export type StepStatus = Execution["status"] | "waiting";

export interface Lane {
  step: string;
  called: boolean;
  bars: Bar[];
  /** Where in time the step published something, as a share of the whole. */
  ticks: { position: number; left: number }[];
  status: StepStatus;
  seconds: number;
}

export interface TimelineView {
  lanes: Lane[];
  marks: { seconds: number; left: number }[];
  seconds: number;
}

/** The part of the time that is looked at. */
export interface Window {
  /** How many times wider than the pane the whole is drawn. */
  zoom: number;
  /** What share of the whole lies before it. */
  from: number;
}

const WHOLE: Window = { zoom: 1, from: 0 };
/** The least that a bar takes of the pane, in percent: less would not be seen. */
const LEAST = 0.3;

/**
 * One lane for each step (compact), or for each execution (full); bars in percent of the run's time.
 *
 * @param whole The whole run, where the model is a part of it: what is stepped through keeps its scale.
 * @param window What is looked at: marks are made for it and a little around it.
 */
export function timelineOf(model: RunModel, now: number, full: boolean, whole = model, window = WHOLE): TimelineView {
  const start = model.opened ?? now;
  const last = whole === model ? now : Math.max(now, ...whole.events.map((one) => moment(one.time)));
  const end = Math.max(whole.ended ?? last, start + 0.1, ...whole.executions.map((one) => one.end ?? 0));
  const share = (time: number) => (100 * (Math.max(time, start) - start)) / (end - start);
  const groups = new Map<string, Execution[]>();
  for (const one of model.executions) {
    const key = full ? one.id : one.step;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const least = LEAST / window.zoom;
  const lanes = [...groups.values()].map((executions) => laneOf(model, executions, share, model.ended ?? now, least));
  const seconds = (end - start) / 1000;
  return { lanes, marks: marksOf(seconds, window), seconds };
}

type Share = (time: number) => number;

function laneOf(model: RunModel, executions: Execution[], share: Share, now: number, least: number): Lane {
  const ids = new Set<string | null>(executions.map((one) => one.id));
  const bars = executions.map((execution) => {
    const left = share(execution.due);
    const waits = execution.waits.map(({ from, to }) => {
      const begin = Math.max(share(from), left);
      return { left: begin, width: Math.max(share(to) - begin, least) };
    });
    const asks = execution.asks.map(({ from, to, kind }) => {
      const begin = share(from);
      return { left: begin, width: Math.max(share(to ?? now) - begin, least), kind };
    });
    return { execution, left, width: Math.max(share(execution.end ?? now) - left, least), waits, asks };
  });
  return {
    step: executions[0]?.step ?? "",
    called: executions[0]?.step.includes(".") === true,
    bars,
    ticks: model.events
      .filter((event) => ids.has(event.from))
      .map((event) => ({ position: event.position, left: share(moment(event.time)) })),
    status: statusOf(executions),
    seconds: executions.reduce((sum, one) => sum + Math.max(0, (one.end ?? now) - one.due) / 1000, 0),
  };
}

/** What needs the eye first. */
export function statusOf(executions: readonly Execution[]): StepStatus {
  if (executions.every((one) => one.status !== "working") && executions.some(isWaiting)) return "waiting";
  const order = ["working", "failed", "done", "dropped"] as const;
  return order.find((status) => executions.some((one) => one.status === status)) ?? "done";
}

const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 86_400];
const STEPS = [...[0.0001, 0.001, 0.01, 0.1].flatMap((one) => [one, 2 * one, 5 * one]), ...SECONDS];

function marksOf(seconds: number, { zoom, from }: Window): TimelineView["marks"] {
  const seen = seconds / zoom;
  const step = STEPS.find((one) => seen / one <= 6) ?? 86_400 * Math.ceil(seen / 86_400 / 6);
  const first = Math.max(0, Math.floor((from * seconds - seen) / step));
  const last = Math.floor(Math.min(seconds, from * seconds + 2 * seen) / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const at = (first + index) * step;
    return { seconds: at, left: (100 * at) / seconds };
  });
}

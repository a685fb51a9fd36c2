import type { RunModel } from "../log/run";

/** What is selected in all panes at once: a step, and the fact of it that the inspector shows. */
export interface Selection {
  execution: string | null;
  position: number | null;
}

export const NOTHING_SELECTED: Selection = { execution: null, position: null };

/** Events that made this one: what the step that published it took, or the request that it answers. */
export function causesOf(model: RunModel, position: number): number[] {
  const event = model.events.find((one) => one.position === position);
  if (event?.from === null && event.answers !== null) return [event.answers];
  const maker = model.executions.find((one) => one.id === event?.from);
  return maker === undefined ? [] : [...new Set(maker.inputs)].sort((a, b) => a - b);
}

/** Events that came of this one: its answer, and what the steps that took it published or showed. */
export function effectsOf(model: RunModel, position: number): number[] {
  const event = model.events.find((one) => one.position === position);
  const answers = model.events.filter((one) => one.answers === position).map((one) => one.position);
  const made = event?.takenBy.flatMap((taker) => publishedBy(model, taker)) ?? [];
  return [...answers, ...made].sort((a, b) => a - b);
}

export function publishedBy(model: RunModel, execution: string): number[] {
  return model.events.filter((one) => one.from === execution).map((one) => one.position);
}

export function selectEvent(model: RunModel, position: number): Selection {
  const event = model.events.find((one) => one.position === position);
  return { execution: event?.from ?? null, position };
}

/** A step is shown by the last thing it published, or by what it took while it works. */
export function selectExecution(model: RunModel, id: string): Selection {
  const execution = model.executions.find((one) => one.id === id);
  return { execution: id, position: publishedBy(model, id).at(-1) ?? execution?.inputs.at(-1) ?? null };
}

export type Move = "cause" | "effect" | "before" | "after";

/** Left and right walk the causal chain, up and down the order in which things happened. */
export function move(model: RunModel, selection: Selection, direction: Move): Selection {
  const { position } = selection;
  if (position === null) {
    const first = model.events[0];
    return first === undefined ? selection : selectEvent(model, first.position);
  }
  const next = target(model, position, direction);
  return next === undefined ? selection : selectEvent(model, next);
}

function target(model: RunModel, position: number, direction: Move): number | undefined {
  switch (direction) {
    case "cause":
      return causesOf(model, position).at(-1);
    case "effect":
      return effectsOf(model, position)[0];
    case "before":
      return model.events.filter((one) => one.position < position).at(-1)?.position;
    case "after":
      return model.events.find((one) => one.position > position)?.position;
  }
}

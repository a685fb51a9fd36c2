import type { Execution, RunEvent, RunModel } from "../log/run";

/** One execution of a run, as it stands beside the other run's. */
export interface Side {
  execution: Execution;
  outputs: readonly RunEvent[];
  /** Of the longer run, in percent. */
  left: number;
  width: number;
  seconds: number;
}

/** The n-th execution of a step in both runs; null where one has none. */
export interface Pair {
  key: string;
  step: string;
  first: Side | null;
  second: Side | null;
  differences: readonly Difference[];
}

/** A field that the outputs do not share; null where it is missing. */
export interface Difference {
  path: string;
  first: string | null;
  second: string | null;
}

/** What names a thing rather than saying something: it is another one in each run. */
const NAMES = new Set(["child_run", "message_id", "run", "timestamp", "id", "request_id", "tool_call_id"]);

/** Two runs, step by step: the first execution of a step beside the first of the other, and so on. */
export function pairsOf(first: RunModel, second: RunModel, now: number): Pair[] {
  const length = Math.max(lengthOf(first, now), lengthOf(second, now), 1);
  const sides = [first, second].map((model) => sidesOf(model, now, length));
  const [a = new Map<string, Side>(), b = new Map<string, Side>()] = sides;
  return inOrder([...a.keys()], [...b.keys()]).map((key) => {
    const pair = { first: a.get(key) ?? null, second: b.get(key) ?? null };
    const step = (pair.first ?? pair.second)?.execution.step ?? key;
    const differences = pair.first === null || pair.second === null ? [] : differencesOf(pair.first, pair.second);
    return { key, step, ...pair, differences };
  });
}

/** What of the outputs differs, field by field. */
export function differencesOf(first: Side, second: Side): Difference[] {
  const fields = [first, second].map((side) => new Map(side.outputs.flatMap(fieldsOf)));
  const [a = new Map<string, string>(), b = new Map<string, string>()] = fields;
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((path) => a.get(path) !== b.get(path))
    .map((path) => ({ path, first: a.get(path) ?? null, second: b.get(path) ?? null }));
}

function lengthOf(model: RunModel, now: number): number {
  return (model.ended ?? now) - (model.opened ?? now);
}

function sidesOf(model: RunModel, now: number, length: number): Map<string, Side> {
  const times = new Map<string, number>();
  const byPosition = new Map(model.events.map((event) => [event.position, event]));
  const found = new Map<string, Side>();
  for (const execution of model.executions) {
    const nth = (times.get(execution.step) ?? 0) + 1;
    times.set(execution.step, nth);
    const took = (execution.end ?? model.ended ?? now) - execution.due;
    found.set(`${execution.step} ${nth}`, {
      execution,
      outputs: execution.outputs.flatMap((position) => byPosition.get(position) ?? []),
      left: (100 * (execution.due - (model.opened ?? execution.due))) / length,
      width: (100 * took) / length,
      seconds: took / 1000,
    });
  }
  return found;
}

/** Those of the first in their order; those that only the second has, behind what they follow there. */
function inOrder(first: readonly string[], second: readonly string[]): string[] {
  const order = [...first];
  let place = 0;
  for (const key of second) {
    const known = order.indexOf(key);
    if (known < 0) order.splice(place, 0, key);
    place = (known < 0 ? place : known) + 1;
  }
  return order;
}

function fieldsOf(event: RunEvent, place: number): [string, string][] {
  return leaves(event.data, `${place + 1} ${event.type}`);
}

/** The values with their paths; what is null or empty says as much as what is not there. */
function leaves(value: unknown, path: string): [string, string][] {
  if (value === null || value === "") return [];
  if (typeof value === "string") return [[path, value]];
  if (typeof value !== "object") return [[path, JSON.stringify(value)]];
  const entries = Object.entries(value).filter(([name]) => !NAMES.has(name));
  return entries.flatMap(([name, inner]) => leaves(inner, `${path}.${name}`));
}

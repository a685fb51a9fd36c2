import type { RunGraph } from "../api/types";
import { CHARACTER, enterX, leaveX, lineName, LOWER_STEP, stopX, type Node } from "./node";

export interface Edge {
  id: string;
  source: string;
  target: string;
  event: string;
  path: string;
  /** The event's name; null where the same name stands on the same line already. */
  label: { x: number; y: number; anchor: "start" | "middle" | "end" } | null;
  right: number;
}

type Way = "straight" | "top" | "down" | "up" | "side" | "around";
type Point = readonly [number, number];

interface Plan {
  id: string;
  event: string;
  source: Node;
  target: Node;
  way: Way;
  track: number;
  /** Which of the names beside the same upright line this is; -1 for one that stands there already. */
  slot: number;
}

const TRACK = 12;
const LINE = 14;
const ROUND = 8;
/** From a stop's upper edge to the lower edge of the steps beside it. */
const UPPER_BOTTOM = 30;

/**
 * Upright and level lines with round corners; a line that passes other steps runs on a track of its own.
 * `place` is told how much room the lines need above the upper rows and below them, and places the nodes.
 */
export function routeEdges(nodes: Node[], graph: RunGraph, place: (above: number, channel: number) => void): Edge[] {
  const plans = planEdges(nodes, graph);
  const tops = giveTracks(plans.filter((plan) => plan.way === "top"));
  const tracks = giveTracks(plans.filter((plan) => ["down", "up", "around"].includes(plan.way) && passes(plan, nodes)));
  const leaving = giveSlots(plans, ["down"], (plan) => plan.source.id);
  const entering = giveSlots(plans, ["up"], (plan) => plan.target.id);
  giveSlots(plans, ["straight", "side", "around"], (plan) => plan.source.id);
  giveSlots(plans, ["top"], (plan) => `${plan.source.id}>${plan.event}`);
  const above = tops === 0 ? 0 : tops * (TRACK + 6) + 6;
  const below = 18 + leaving * LINE;
  const channel = nodes.some((node) => node.lower) ? below + tracks * TRACK + entering * LINE + 24 : 0;
  place(above, channel);
  return plans.map((plan) => draw(plan, below));
}

function planEdges(nodes: Node[], graph: RunGraph): Plan[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return graph.edges.flatMap(({ source: from, target: to, event }) => {
    const source = byId.get(from);
    const target = byId.get(to);
    if (source === undefined || target === undefined) return [];
    const way = wayOf(source, target, nodes);
    return [{ id: `${from}>${to}>${event}`, event, source, target, way, track: -1, slot: 0 }];
  });
}

function wayOf(source: Node, target: Node, nodes: Node[]): Way {
  if (!source.lower && target.lower) return "down";
  if (source.lower && !target.lower) return "up";
  const clear = target.layer > source.layer && !nodes.some((node) => between(node, source, target));
  if (!source.lower && target.kind === "stop") return clear ? (target.row === source.row ? "straight" : "side") : "top";
  if (!source.lower) return clear && source.row === target.row ? "straight" : "top";
  if (!clear) return "around";
  return source.row === target.row ? "straight" : "side";
}

/** Stands in the way of a level line from one to the other. */
function between(node: Node, source: Node, target: Node): boolean {
  const sameSide = node.lower === source.lower && node.row === source.row;
  return sameSide && node.x > source.x && node.x < target.x;
}

/** The line cannot go to its target by one upright: it needs a level stretch between the rows. */
function passes({ way, source, target }: Plan, nodes: Node[]): boolean {
  if (way === "around") return true;
  if (way === "up" && target.kind === "stop") return Math.abs(stopX(target) - (source.x + source.w + 14)) > 40;
  if (way === "up") return Math.abs(enterX(target) - (source.x + source.w + 14)) > 20;
  const blocked = nodes.some(
    (node) => node.lower && node.row <= target.row && node.x + node.w > leaveX(source) && node.x < target.x - 16,
  );
  return blocked || target.x < leaveX(source);
}

function giveTracks(plans: Plan[]): number {
  const ends: number[] = [];
  const ordered = [...plans].sort((a, b) => a.source.x - b.source.x || a.target.x - b.target.x);
  for (const plan of ordered) {
    const [left, right] = [plan.source.x, plan.target.x].sort((a, b) => a - b) as [number, number];
    const free = ends.findIndex((end) => end + 24 < left);
    plan.track = free < 0 ? ends.length : free;
    ends[plan.track] = Math.max(right, left) + plan.target.w;
  }
  return ends.length;
}

/** Names beside one line stand one below the other, each once. Returns the most that meet at one place. */
function giveSlots(plans: Plan[], ways: readonly Way[], place: (plan: Plan) => string): number {
  const names = new Map<string, string[]>();
  const ours = plans.filter((one) => ways.includes(one.way));
  // A stop has its name itself.
  for (const plan of ours) if (plan.target.kind === "stop") plan.slot = -1;
  const named = ours.filter((one) => one.slot >= 0).sort((a, b) => ways.indexOf(a.way) - ways.indexOf(b.way));
  for (const plan of named) {
    const known = names.get(place(plan)) ?? [];
    plan.slot = known.includes(plan.event) ? -1 : known.length;
    if (plan.slot >= 0) names.set(place(plan), [...known, plan.event]);
  }
  return Math.max(0, ...[...names.values()].map((known) => known.length));
}

function draw(plan: Plan, below: number): Edge {
  const { source, target, id, event } = plan;
  const points = pointsOf(plan, below);
  const label = plan.slot < 0 ? null : labelOf(plan, points);
  const labelRight = label?.anchor === "start" ? label.x + lineName(event).length * CHARACTER : 0;
  const right = Math.max(labelRight, ...points.map(([x]) => x));
  return { id, source: source.id, target: target.id, event, path: rounded(points), label, right };
}

function pointsOf(plan: Plan, below: number): Point[] {
  const { source, target, way, track } = plan;
  const middle = source.y + source.h / 2;
  const into = target.y + target.h / 2;
  const side = source.x + source.w + 14;
  const bottom = (node: Node) => node.y + node.h;
  const channelTop = (node: Node) => bottom(node) + below + track * TRACK;
  if (target.kind === "stop" && way !== "straight") return pointsToStop(plan, below);
  switch (way) {
    case "straight":
      return [[source.x + source.w, middle], [target.x - 1, into]];
    case "side":
      return [[source.x + source.w, middle], [target.x - 14, middle], [target.x - 14, into], [target.x - 1, into]];
    case "top": {
      const y = Math.min(source.y, target.y) - 8 - track * (TRACK + 6);
      return [[leaveX(source), source.y], [leaveX(source), y], [enterX(target), y], [enterX(target), target.y - 1]];
    }
    case "down": {
      const x = leaveX(source);
      if (track < 0) return [[x, bottom(source)], [x, into], [target.x - 1, into]];
      const y = channelTop(source);
      return [[x, bottom(source)], [x, y], [target.x - 14, y], [target.x - 14, into], [target.x - 1, into]];
    }
    case "up": {
      const x = enterX(target);
      if (track < 0) return [[source.x + source.w, middle], [x, middle], [x, bottom(target) + 1]];
      const y = channelTop(target);
      return [[source.x + source.w, middle], [side, middle], [side, y], [x, y], [x, bottom(target) + 1]];
    }
    case "around": {
      const y = Math.min(source.y, target.y) - 14 - track * TRACK;
      const x = target.x - 14;
      return [[source.x + source.w, middle], [side, middle], [side, y], [x, y], [x, into], [target.x - 1, into]];
    }
  }
}

/** A line to a stop turns towards it before it, whichever way it came. */
function pointsToStop({ source, target, way, track }: Plan, below: number): Point[] {
  const middle = source.y + source.h / 2;
  const into = target.y + target.h / 2;
  const right = source.x + source.w;
  const x = stopX(target);
  const end: Point[] = [[x, into], [target.x - 1, into]];
  if (way === "top") {
    const y = source.y - 8 - track * (TRACK + 6);
    return [[leaveX(source), source.y], [leaveX(source), y], [x, y], ...end];
  }
  if (track < 0) return [[right, middle], [x, middle], ...end];
  const y = target.y + UPPER_BOTTOM - target.row * 18 + below + track * TRACK;
  return [[right, middle], [right + 14, middle], [right + 14, y], [x, y], ...end];
}

function labelOf({ way, slot, source, target }: Plan, points: Point[]): Edge["label"] {
  const bottom = source.y + source.h;
  const first = points[0] ?? [0, 0];
  const last = points.at(-1) ?? [0, 0];
  if (source.kind === "start") return { x: first[0] - 4, y: source.y - 34, anchor: "start" };
  switch (way) {
    case "down":
      return { x: leaveX(source) + 8, y: bottom + 24 + slot * LINE, anchor: "start" };
    case "up": {
      const room = source.y - source.row * LOWER_STEP - 22 - slot * LINE;
      return { x: (points.length > 3 ? source.x + source.w + 14 : enterX(target)) - 8, y: room, anchor: "end" };
    }
    case "top":
      return { x: leaveX(source) + 10, y: (points[1]?.[1] ?? 0) - 4, anchor: "start" };
    case "side":
    case "around":
      return { x: source.x + source.w + 4, y: source.y + source.h + 12 + slot * LINE, anchor: "end" };
    case "straight":
      return { x: (first[0] + last[0]) / 2, y: first[1] - 8 - slot * LINE, anchor: "middle" };
  }
}

/** A path through the points whose corners are quarter rounds. */
export function rounded(points: readonly Point[]): string {
  const corners = points.filter((point, at) => at === 0 || distance(point, points[at - 1] ?? point) > 0.5);
  const parts = corners.map((point, at) => {
    const before = corners[at - 1];
    const after = corners[at + 1];
    if (before === undefined) return `M${text(point)}`;
    if (after === undefined || isLine(before, point, after)) return `L${text(point)}`;
    const radius = Math.min(ROUND, distance(before, point) / 2, distance(point, after) / 2);
    return `L${text(towards(point, before, radius))}Q${text(point)} ${text(towards(point, after, radius))}`;
  });
  return parts.join("");
}

function isLine(a: Point, b: Point, c: Point): boolean {
  return (a[0] === b[0] && b[0] === c[0]) || (a[1] === b[1] && b[1] === c[1]);
}

function towards(from: Point, to: Point, by: number): Point {
  const whole = distance(from, to);
  return whole === 0 ? from : [from[0] + ((to[0] - from[0]) * by) / whole, from[1] + ((to[1] - from[1]) * by) / whole];
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

function text([x, y]: Point): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}

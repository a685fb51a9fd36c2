import type { RunGraph } from "../api/types";
import { layersOf } from "./layers";
import { CHARACTER, leaveX, lineName, LOWER_STEP, type Node } from "./node";
import { routeEdges, type Edge } from "./routing";

export interface Layout {
  width: number;
  height: number;
  nodes: Node[];
  edges: Edge[];
}

const UPPER_HEIGHT = 52;
const LOWER_HEIGHT = 48;
const UPPER_STEP = 76;
/** Starts and stops are points, which stand close. */
const END_STEP = 18;
const LEFT = 8;
const TOP = 30;

/** Layers from left to right, the same for the same graph: called steps hang below the steps that call them. */
export function layOut(graph: RunGraph): Layout {
  const layers = layersOf(graph);
  const nodes = graph.nodes.map((node, index) => makeNode(node, layers[index] ?? 0));
  giveRows(nodes);
  placeColumns(nodes, graph);
  const upper = nodes.filter((node) => !node.lower && node.kind === "step");
  const upperRows = 1 + Math.max(0, ...upper.map((node) => node.row));
  const edges = routeEdges(nodes, graph, (above, channel) => placeRows(nodes, upperRows, above, channel));
  const width = Math.max(...nodes.map((node) => node.x + node.w), ...edges.map((edge) => edge.right)) + LEFT;
  const height = Math.max(...nodes.map((node) => node.y + node.h)) + 24;
  return { width, height, nodes, edges };
}

function makeNode(node: RunGraph["nodes"][number], layer: number): Node {
  const name = node.step.split(".").at(-1) ?? node.step;
  const end = node.kind !== "step";
  const lower = node.group !== null && !end;
  const least = lower ? 132 : 104;
  return {
    id: node.id,
    kind: node.kind,
    name,
    group: node.group,
    lower,
    layer,
    row: 0,
    x: 0,
    y: 0,
    // A stop has its name beside it; the start's stands above.
    w: end ? (node.kind === "stop" ? 16 + name.length * CHARACTER : 8) : Math.max(least, Math.ceil(name.length * 7.3) + 46),
    h: lower ? LOWER_HEIGHT : end ? 8 : UPPER_HEIGHT,
  };
}

/** In each layer the upper nodes fill rows from the top, the lower ones theirs. */
function giveRows(nodes: Node[]): void {
  const used = new Map<string, number>();
  for (const node of nodes) {
    const key = `${node.layer}.${String(node.lower)}.${String(node.kind === "step")}`;
    node.row = used.get(key) ?? 0;
    used.set(key, node.row + 1);
  }
}

/** Each layer as far left as its edges, and the nodes before it in its rows, let it. */
function placeColumns(nodes: Node[], graph: RunGraph): void {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const last = Math.max(0, ...nodes.map((node) => node.layer));
  for (let layer = 0; layer <= last; layer += 1) {
    const here = nodes.filter((node) => node.layer === layer);
    const before = nodes.filter((node) => node.layer < layer);
    const bounds = [LEFT];
    for (const node of here) {
      for (const other of before) if (sameRow(node, other)) bounds.push(other.x + other.w + 28);
      for (const edge of graph.edges) {
        const source = edge.target === node.id ? byId.get(edge.source) : undefined;
        if (source !== undefined && source.layer < layer) bounds.push(leastAfter(source, node, edge.event));
      }
    }
    for (const node of here) node.x = Math.max(...bounds);
  }
}

function sameRow(a: Node, b: Node): boolean {
  return a.lower === b.lower && (a.row === b.row || a.kind !== "step" || b.kind !== "step");
}

function leastAfter(source: Node, target: Node, event: string): number {
  if (!source.lower && target.lower) return leaveX(source) + 16;
  if (target.kind === "stop") return source.x + source.w + 52;
  if (source.lower && !target.lower) return source.x + source.w + 14 - 32;
  if (source.kind === "start") return source.x + source.w + 20;
  return source.x + source.w + (sameRow(source, target) ? Math.max(40, lineName(event).length * CHARACTER + 28) : 40);
}

function placeRows(nodes: Node[], upperRows: number, above: number, channel: number): void {
  const lowerTop = TOP + above + (upperRows - 1) * UPPER_STEP + UPPER_HEIGHT + channel;
  for (const node of nodes) {
    if (node.lower) node.y = lowerTop + node.row * LOWER_STEP;
    else if (node.kind === "step") node.y = TOP + above + node.row * UPPER_STEP;
    else node.y = TOP + above + UPPER_HEIGHT / 2 - 4 + node.row * END_STEP;
  }
}

import type { RunGraph } from "../api/types";

/** For each node the longest way to it from a start; an edge that closes a loop does not count. */
export function layersOf(graph: RunGraph): number[] {
  const index = new Map(graph.nodes.map((node, at) => [node.id, at]));
  const forward = forwardEdges(graph, index);
  const layers = graph.nodes.map(() => 0);
  // At most one round for each node: the longest way has no more edges than that.
  for (const _round of graph.nodes) {
    let changed = false;
    for (const [source, target] of forward) {
      const least = (layers[source] ?? 0) + 1;
      if ((layers[target] ?? 0) < least) {
        layers[target] = least;
        changed = true;
      }
    }
    if (!changed) break;
  }
  const last = Math.max(0, ...layers);
  return layers.map((layer, at) => (graph.nodes[at]?.kind === "stop" ? last : layer));
}

type Pair = readonly [number, number];

function forwardEdges(graph: RunGraph, index: ReadonlyMap<string, number>): Pair[] {
  const pairs = graph.edges
    .map((edge) => [index.get(edge.source), index.get(edge.target)])
    .filter((pair): pair is [number, number] => pair[0] !== undefined && pair[1] !== undefined);
  const next = graph.nodes.map((_, at) => pairs.filter(([source]) => source === at).map(([, target]) => target));
  const open = new Set<number>();
  const done = new Set<number>();
  const back = new Set<string>();
  const visit = (node: number) => {
    open.add(node);
    for (const target of next[node] ?? []) {
      if (open.has(target)) back.add(`${node}>${target}`);
      else if (!done.has(target)) visit(target);
    }
    open.delete(node);
    done.add(node);
  };
  graph.nodes.forEach((_, at) => {
    if (!done.has(at)) visit(at);
  });
  return pairs.filter(([source, target]) => !back.has(`${source}>${target}`));
}

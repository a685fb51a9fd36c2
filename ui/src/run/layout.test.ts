import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunGraph } from "../api/types";
import { layersOf } from "./layers";
import { layOut } from "./layout";
import { rounded } from "./routing";

function graphOf(steps: readonly string[], edges: readonly [string, string, string?][]): RunGraph {
  const kind = (id: string) => (id === "start" || id === "stop" ? id : "step");
  const group = (id: string) => (id.includes(".") ? (id.split(".")[0] ?? null) : null);
  return {
    nodes: steps.map((id) => ({ id, step: id, label: "", icon: null, group: group(id), kind: kind(id) })),
    groups: [],
    edges: edges.map(([source, target, event]) => ({ source, target, event: event ?? "Event" })),
  };
}

const CHAIN = graphOf(
  ["start", "begin", "C.ask", "answer", "C.end", "stop"],
  [
    ["start", "begin"],
    ["begin", "C.ask", "AskRequest"],
    ["C.ask", "answer", "Asked"],
    ["answer", "C.end", "EndRequest"],
    ["C.end", "stop", "StopEvent"],
    ["C.ask", "stop", "RefusalStopEvent"],
  ],
);

/** Any graph of up to twelve steps, loops included. */
const anyGraph = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 12 })
  .chain((kinds) => {
    const steps = kinds.map((called, at) => (called ? `C.step${at}` : `step${at}`));
    const end = fc.nat({ max: steps.length - 1 });
    return fc.array(fc.tuple(end, end), { maxLength: 24 }).map((pairs) =>
      graphOf(
        steps,
        pairs.map(([from, to], at) => [steps[from] ?? "", steps[to] ?? "", `Event${at}`]),
      ),
    );
  });

describe("layers", () => {
  it("are the longest way from the start", () => {
    expect(layersOf(CHAIN)).toEqual([0, 1, 2, 3, 4, 5]);
    const join = graphOf(["a", "b", "c"], [["a", "b"], ["b", "c"], ["a", "c"]]);
    expect(layersOf(join)).toEqual([0, 1, 2]);
  });

  it("do not count an edge that closes a loop", () => {
    expect(layersOf(graphOf(["a", "b", "c"], [["a", "b"], ["b", "c"], ["c", "b"]]))).toEqual([0, 1, 2]);
  });
});

describe("the layout", () => {
  it("puts called steps below those that call them, from left to right", () => {
    const at = Object.fromEntries(layOut(CHAIN).nodes.map((node) => [node.id, node]));
    expect(at["C.ask"]?.y).toBeGreaterThan((at.begin?.y ?? 0) + (at.begin?.h ?? 0));
    const order = ["start", "begin", "C.ask", "answer", "C.end", "stop"].map((id) => at[id]?.x ?? 0);
    expect([...order].sort((a, b) => a - b)).toEqual(order);
  });

  it("is the same for the same graph", () => {
    expect(layOut(CHAIN)).toEqual(layOut(structuredClone(CHAIN)));
  });

  it("never lays one step over another, and keeps all in the picture", () => {
    const holds = fc.property(anyGraph, (graph) => {
      const { nodes, width, height } = layOut(graph);
      for (const [index, a] of nodes.entries()) {
        expect(a.x + a.w).toBeLessThanOrEqual(width);
        expect(a.y + a.h).toBeLessThanOrEqual(height);
        for (const b of nodes.slice(index + 1)) {
          const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
          expect(apart, `${a.id} and ${b.id}`).toBe(true);
        }
      }
    });
    fc.assert(holds);
  });

  it("draws every edge, from its step to its step, with upright and level lines only", () => {
    const holds = fc.property(anyGraph, (graph) => {
      const { edges } = layOut(graph);
      expect(edges).toHaveLength(graph.edges.length);
      for (const { path } of edges) expect(path).toMatch(/^M[\d.-]+ [\d.-]+(?:[LQ][\d. -]+)+$/);
    });
    fc.assert(holds);
  });

  it("names an event once beside the line it shares", () => {
    const twice = graphOf(["a", "C.b", "C.c"], [["a", "C.b", "Request"], ["a", "C.c", "Request"]]);
    expect(layOut(twice).edges.filter((edge) => edge.label !== null)).toHaveLength(1);
  });
});

describe("a path", () => {
  it("turns its corners round", () => {
    expect(rounded([[0, 0], [0, 40], [40, 40]])).toBe("M0 0L0 32Q0 40 8 40L40 40");
  });

  it("is straight where its points are", () => {
    expect(rounded([[0, 0], [20, 0], [40, 0]])).toBe("M0 0L20 0L40 0");
  });
});

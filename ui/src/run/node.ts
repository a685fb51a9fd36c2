/** A step of the agent stands in the upper rows, a step of a called capability in the rows below. */
export interface Node {
  id: string;
  kind: "step" | "start" | "stop";
  name: string;
  group: string | null;
  lower: boolean;
  layer: number;
  row: number;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** From one row of called steps to the next. */
export const LOWER_STEP = 60;

/** How wide a character of an edge's name is. */
export const CHARACTER = 6.65;

/** The name of an event beside a line: what ends in "Event" says so by standing there. */
export function lineName(event: string): string {
  const name = event.split(".").at(-1) ?? event;
  return name.length > 9 && name.endsWith("Event") ? name.slice(0, -5) : name;
}

/** Where the lines to a stop turn towards it: stops stand close, so each has an upright of its own. */
export function stopX(stop: Node): number {
  return stop.x - 38 + 8 * Math.min(stop.row, 3);
}

/** Where an edge leaves a node downwards, and where one comes in from below. */
export function leaveX(node: Node): number {
  return node.kind === "step" ? node.x + node.w - 32 : node.x + 4;
}

export function enterX(node: Node): number {
  return node.kind === "step" ? node.x + 32 : node.x + 4;
}

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

/** How wide a character of an edge's name is. */
export const CHARACTER = 6.65;

/** Where an edge leaves a node downwards, and where one comes in from below. */
export function leaveX(node: Node): number {
  return node.kind === "step" ? node.x + node.w - 32 : node.x + node.w / 2;
}

export function enterX(node: Node): number {
  return node.kind === "step" ? node.x + 32 : node.x + node.w / 2;
}

interface Node {
  type: string;
  value?: string;
  tagName?: string;
  properties?: Record<string, unknown>;
  children?: Node[];
}

const LINE_BREAK = /^<br\s*\/?>$/i;

/** Raw HTML is what somebody wrote, so it is shown as written; only a line break, which tables need, is one. */
export function htmlAsText() {
  return (root: Node): void => showRaw(root, true);
}

function showRaw(parent: Node, top: boolean): void {
  if (parent.children === undefined) return;
  parent.children = parent.children.map((node) => (node.type === "raw" ? shown(node.value ?? "", top) : node));
  for (const child of parent.children) showRaw(child, false);
}

function shown(value: string, top: boolean): Node {
  if (LINE_BREAK.test(value.trim())) return { type: "element", tagName: "br", properties: {}, children: [] };
  const text = { type: "text", value };
  return top ? { type: "element", tagName: "p", properties: {}, children: [text] } : text;
}

/** A part of a message, as people read it. */
export interface PromptLine {
  role: "system" | "user" | "model" | "thinking" | "call" | "result" | "retry";
  /** Of a tool. */
  name: string | null;
  text: string;
}

type Data = Record<string, unknown>;

const ROLES: Record<string, PromptLine["role"] | undefined> = {
  "system-prompt": "system",
  "user-prompt": "user",
  text: "model",
  thinking: "thinking",
  "tool-call": "call",
  "tool-return": "result",
  "retry-prompt": "retry",
};

/** The parts of messages as pydantic-ai writes them, in order; the instructions of a request come before its parts. */
export function linesOf(messages: readonly Data[]): PromptLine[] {
  return messages.flatMap((message) => {
    const instructions = typeof message.instructions === "string" ? message.instructions : "";
    const parts = Array.isArray(message.parts) ? (message.parts as Data[]) : [];
    const lines = parts.map(lineOf);
    return instructions === "" ? lines : [{ role: "system" as const, name: null, text: instructions }, ...lines];
  });
}

function lineOf(part: Data): PromptLine {
  const kind = typeof part.part_kind === "string" ? part.part_kind : "";
  const role = ROLES[kind] ?? "model";
  const name = typeof part.tool_name === "string" ? part.tool_name : null;
  return { role, name, text: words(role === "call" ? part.args : part.content) };
}

/** Texts as they are, several one below the other; what is no text by its kind or as JSON. */
function words(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(words).join("\n");
  if (content === null || content === undefined) return "";
  const { kind, media_type: type, url } = content as Data;
  if (kind === "binary") return `[${String(type)}]`;
  return typeof url === "string" ? `[${url}]` : JSON.stringify(content, null, 2);
}

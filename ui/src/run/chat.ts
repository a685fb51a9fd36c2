import type { RunEvent, RunModel } from "../log/run";
import { linesOf } from "./prompt";

/** What a person saw of a run up to a moment, from what was said before it on. */
export type ChatLine =
  | { kind: "said"; text: string }
  | { kind: "answer"; text: string; state: "before" | "whole" | "streaming" | "interrupted" }
  | { kind: "asked"; text: unknown; answer: ChatAnswer | null }
  | { kind: "refused"; text: string }
  | { kind: "failed"; text: string; what: string }
  | { kind: "further"; questions: string[] };

/** What was answered: words, or a yes or no; or the time was over. */
export type ChatAnswer = { text: string } | { confirmed: boolean } | { timedOut: true };

type Data = Record<string, unknown>;

/**
 * The chat as it stood after the last of these events.
 *
 * @param model The run, or its beginning up to where it is looked at.
 */
export function chatOf(model: RunModel): ChatLine[] {
  const [start, ...events] = model.events;
  const lines = start === undefined ? [] : before(start.data);
  const asked = new Map<number, Extract<ChatLine, { kind: "asked" }>>();
  for (const event of events) take(event, lines, asked);
  return lines;
}

function before(data: Data): ChatLine[] {
  const messages = Array.isArray(data.messages) ? (data.messages as Data[]) : [];
  return linesOf(messages).flatMap(({ role, text }): ChatLine[] => {
    if (role === "user") return [{ kind: "said", text }];
    return role === "model" ? [{ kind: "answer", text, state: "before" }] : [];
  });
}

function take(event: RunEvent, lines: ChatLine[], asked: Map<number, Extract<ChatLine, { kind: "asked" }>>): void {
  const { data, type, answers } = event;
  const question = answers === null ? undefined : asked.get(answers);
  if (question !== undefined) {
    question.answer = answerOf(data);
  } else if (["input", "confirmation", "chat"].includes(String(data.asks))) {
    const line = { kind: "asked" as const, text: data.question, answer: null };
    asked.set(event.position, line);
    lines.push(line);
  } else if (type === "SteeringMessageEvent") {
    lines.push(...before(data).filter(({ kind }) => kind === "said").slice(-1));
  } else if (type === "FollowUpsSuggestedEvent") {
    lines.push({ kind: "further", questions: (data.questions as string[] | undefined) ?? [] });
  } else if (type === "RefusalStopEvent") {
    lines.push({ kind: "refused", text: words(data.text) });
  } else if (type === "ExceptionEvent") {
    lines.push({ kind: "failed", text: words(data.message), what: words(data.what_to_do) });
  } else {
    answered(type, data, lines);
  }
}

/** An answer grows by what was kept of it while it streamed, and is whole when the model has said it. */
function answered(type: string, data: Data, lines: ChatLine[]): void {
  const text = textOf(type, data);
  if (text === null) return;
  const last = lines.findLast((line) => line.kind === "answer");
  const state = STATES[type] ?? "whole";
  if (last?.state === "streaming") Object.assign(last, { text, state });
  else if (last === undefined || last.state === "before" || last.text !== text) lines.push({ kind: "answer", text, state });
}

const STATES: Record<string, "streaming" | "interrupted" | undefined> = {
  AnswerCheckpointEvent: "streaming",
  AnswerInterruptedEvent: "interrupted",
};

/** The words that an event says to the person; null if it says none. */
function textOf(type: string, data: Data): string | null {
  if (STATES[type] !== undefined) return words(data.text);
  const answer = (data.response ?? (data.answer as Data | undefined)?.response) as Data | undefined;
  const text = answer === undefined ? "" : linesOf([answer]).flatMap((line) => (line.role === "model" ? [line.text] : []));
  return text.length === 0 ? null : [text].flat().join("");
}

function answerOf(data: Data): ChatAnswer {
  if (typeof data.confirmed === "boolean") return { confirmed: data.confirmed };
  return typeof data.text === "string" ? { text: data.text } : { timedOut: true };
}

const words = (value: unknown) => (typeof value === "string" ? value : "");

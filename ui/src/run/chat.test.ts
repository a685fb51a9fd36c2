import { describe, expect, it } from "vitest";
import type { Envelope } from "../api/types";
import { runModel } from "../log/run";
import { chatOf } from "./chat";

type Data = Record<string, unknown>;

const prompt = (text: string) => ({ kind: "request", parts: [{ part_kind: "user-prompt", content: text }] });
const said = (text: string) => ({ kind: "response", parts: [{ part_kind: "thinking", content: "hm" }, { part_kind: "text", content: text }] });

function chat(...events: [string, Data][]) {
  const start: [string, Data] = ["UserMessageEvent", { messages: [prompt("Hi"), said("Hello."), prompt("Prices?")] }];
  const entries = [start, ...events].map(([type, data], index): Envelope => {
    const position = index + 1;
    return { position, id: `e${position}`, type, time: "2026-01-05T09:00:00Z", data };
  });
  return chatOf(runModel(entries)).slice(3);
}

describe("the chat at a moment of a run", () => {
  it("begins with what was said before, and the question", () => {
    const entries: Envelope[] = [
      { position: 1, id: "a", type: "UserMessageEvent", time: "2026-01-05T09:00:00Z", data: { messages: [prompt("Hi"), said("Hello."), prompt("Prices?")] } },
    ];
    expect(chatOf(runModel(entries))).toEqual([
      { kind: "said", text: "Hi" },
      { kind: "answer", text: "Hello.", state: "before" },
      { kind: "said", text: "Prices?" },
    ]);
    expect(chatOf(runModel([]))).toEqual([]);
  });

  it("grows with what was kept while the answer streamed, and has it once when it is whole", () => {
    const events: [string, Data][] = [
      ["AnswerCheckpointEvent", { text: "It co" }],
      ["AnswerCheckpointEvent", { text: "It costs" }],
      ["LLMEvent", { response: said("It costs 10.") }],
      ["LLMStopEvent", { answer: { response: said("It costs 10.") } }],
      ["FollowUpsSuggestedEvent", { questions: ["Why?"] }],
    ];
    expect(chat(...events.slice(0, 2))).toEqual([{ kind: "answer", text: "It costs", state: "streaming" }]);
    expect(chat(...events)).toEqual([
      { kind: "answer", text: "It costs 10.", state: "whole" },
      { kind: "further", questions: ["Why?"] },
    ]);
  });

  it("keeps an answer that is like an earlier one", () => {
    expect(chat(["LLMEvent", { response: said("Hello.") }])).toEqual([{ kind: "answer", text: "Hello.", state: "whole" }]);
  });

  it("has what an interrupted answer said", () => {
    const events: [string, Data][] = [["AnswerCheckpointEvent", { text: "It" }], ["AnswerInterruptedEvent", { text: "It co", reason: "stopped" }]];
    expect(chat(...events)).toEqual([{ kind: "answer", text: "It co", state: "interrupted" }]);
  });

  it("has each question with its own answer", () => {
    const asks: [string, Data][] = [
      ["AskInput", { asks: "input", question: "How much?" }],
      ["AskConfirmation", { asks: "confirmation", question: { en: "Sure?" } }],
      ["AskInput", { asks: "input", question: "Late?" }],
      ["AskConfirmationAnswered", { answers: 3, confirmed: false }],
      ["AskInputAnswered", { answers: 2, text: "100" }],
    ];
    expect(chat(...asks)).toEqual([
      { kind: "asked", text: "How much?", answer: { text: "100" } },
      { kind: "asked", text: { en: "Sure?" }, answer: { confirmed: false } },
      { kind: "asked", text: "Late?", answer: null },
    ]);
    expect(chat(...asks, ["AskInputTimedOut", { answers: 4 }]).at(-1)).toEqual({ kind: "asked", text: "Late?", answer: { timedOut: true } });
  });

  it("ends with a refusal or an error", () => {
    expect(chat(["RefusalStopEvent", { reason: "other", text: "No." }])).toEqual([{ kind: "refused", text: "No." }]);
    expect(chat(["ExceptionEvent", { message: "Gone.", what_to_do: "Wait." }])).toEqual([{ kind: "failed", text: "Gone.", what: "Wait." }]);
  });

  it("has what was said meanwhile, and nothing of what only moves the run", () => {
    expect(chat(["SteeringMessageEvent", { messages: [prompt("Shorter!")] }], ["ContextualizedEvent", { query: "x" }])).toEqual([
      { kind: "said", text: "Shorter!" },
    ]);
  });
});

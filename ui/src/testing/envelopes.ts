import type { Envelope, LiveFrame } from "../api/types";

/** Makes a workspace's log: each envelope gets the next position. */
export class LogMaker {
  readonly envelopes: Envelope[] = [];

  constructor(private readonly thread = "t1") {}

  add(type: string, data: Record<string, unknown>, thread = this.thread): Envelope {
    const position = this.envelopes.length + 1;
    const envelope: Envelope = {
      position,
      id: `e${position}`,
      type,
      time: new Date(Date.UTC(2026, 0, 5, 9, 0, position)).toISOString(),
      workspace: "w1",
      thread,
      actor: { kind: "user", id: "a1", name: "Anna" },
      data,
    };
    this.envelopes.push(envelope);
    return envelope;
  }

  ask(message: string, parent: string | null, run: string, content = `question ${message}`, thread = this.thread) {
    const posted = { message_id: message, parent_id: parent, role: "user", content, run_id: null, follow_ups: [] };
    this.add("message_posted", posted, thread);
    this.add("run_requested", { run_id: run, message_id: message, profile: "assistant", when: "next" }, thread);
    return this.add("run_started", { run_id: run, message_id: message, profile_name: "Assistant", profile_version: 3 }, thread);
  }

  answer(run: string, parent: string, content: string, change: Record<string, unknown> = {}, thread = this.thread) {
    const reply = { message_id: run, parent_id: parent, role: "assistant", content, run_id: run, follow_ups: [] };
    this.add("message_posted", { ...reply, incomplete: false, error: null, ...change }, thread);
    const ended = { run_id: run, status: "completed", duration_seconds: 2, steps: 3, cost: "0.001" };
    const { status, error } = change;
    const outcome = { status: status ?? ended.status, error: error ?? null };
    return this.add("run_ended", { ...ended, ...outcome, usage: { input_tokens: 10, output_tokens: 5 } }, thread);
  }
}

/** The frames of a text, numbered from 1. */
export function framesOf(run: string, pieces: readonly string[]): LiveFrame[] {
  const base = { run, attempt: 1, response: 1, part: 0 };
  const deltas = pieces.map((text, at) => ({ ...base, n: at + 2, type: "text_delta" as const, text }));
  return [{ ...base, n: 1, type: "part_started", kind: "text" }, ...deltas];
}

/** The journal of a run of two steps, one of a capability. */
export function journalOf(run: string, thread = "t1"): Envelope[] {
  const entries: Envelope[] = [];
  const add = (type: string, data: Record<string, unknown>, cause: string | null = null) => {
    const position = entries.length + 1;
    const time = new Date(Date.UTC(2026, 0, 5, 9, 1, 0, position * 100)).toISOString();
    entries.push({ position, id: `${run}.${position}`, type, time, thread, run, cause, data });
  };
  add("run_opened", { blueprint: "LLMWrappingAgent", profile_name: "Assistant", profile_version: 3 });
  add("UserMessageEvent", { locale: "en" });
  add("execution_due", { execution: "x1", step: "begin", label: null, attempt: 1, binding: [[2]] });
  add("ContextualizeRequest", { history: "c1" }, "x1");
  add("execution_finished", { execution: "x1", attempt: 1, outputs: [4] }, "x1");
  add("execution_due", { execution: "x2", step: "Conversation.gate", label: "Looking", attempt: 1, binding: [[4]] });
  add("model_called", { execution: "x2", model: "demo", duration_seconds: 0.05 }, "x2");
  add("LLMStopEvent", { answer: "yes" }, "x2");
  add("execution_finished", { execution: "x2", attempt: 1, outputs: [8] }, "x2");
  add("run_ended", { status: "completed", error: null, usage: null, cost: null, duration_seconds: 0.9, untaken: ["SpareEvent"] });
  return entries;
}

import type { Envelope, Failure, ServerText, Usage } from "../api/types";
import { failure, moment, number, text, texts, usage } from "./read";

/** One execution of a step. */
export interface Execution {
  id: string;
  /** "answer", or "Conversation.gate" of a called capability. */
  step: string;
  label: ServerText | null;
  icon: string | null;
  scope: string | null;
  attempt: number;
  status: "working" | "done" | "failed" | "dropped";
  due: number;
  end: number | null;
  duePosition: number;
  endPosition: number | null;
  inputs: number[];
  outputs: number[];
  error: Failure | null;
  retryAt: string | null;
  /** When it waited for a model. */
  waits: { from: number; to: number }[];
  /** The models it called, by position; of some it was not kept what they were sent. */
  calls: ModelCall[];
  /** When what it asked people, or a timer that it set, was waited for; `to` is null while it still is. */
  asks: { position: number; kind: "person" | "timer"; from: number; to: number | null }[];
}

/** A call of a model. */
export interface ModelCall {
  position: number;
  model: string;
  /** What a small task was for, or the type that was asked for; empty for answers. */
  task: string;
  hasPrompt: boolean;
}

/** A fact of the run: the start, and what steps published. */
export interface RunEvent {
  position: number;
  type: string;
  label: ServerText | null;
  icon: string | null;
  time: string;
  display: boolean;
  data: Record<string, unknown>;
  /** The execution that published it; null for the start. */
  from: string | null;
  /** The request that it answers, by position. */
  answers: number | null;
  takenBy: string[];
}

export interface RunModel {
  executions: Execution[];
  events: RunEvent[];
  blueprint: string | null;
  profileName: string | null;
  profileVersion: number | null;
  opened: number | null;
  ended: number | null;
  status: "completed" | "failed" | "stopped" | null;
  error: Failure | null;
  usage: Usage | null;
  cost: number | null;
  seconds: number | null;
  /** Classes of the events that no step took. */
  untaken: string[];
}

/** Entries that are not events but tell what the driver did. */
const CONTROL = new Set([
  "run_opened",
  "execution_due",
  "execution_started",
  "execution_finished",
  "execution_failed",
  "precondition_answered",
  "ownership_taken",
  "ownership_released",
  "stop_requested",
  "stop_reached",
  "model_called",
  "run_ended",
]);

/** Whom an event asks, by what the server says it is. */
const ASKS: Record<string, Execution["asks"][number]["kind"] | undefined> = {
  input: "person",
  confirmation: "person",
  chat: "person",
  timer: "timer",
};

const models = new WeakMap<readonly Envelope[], RunModel>();

/** What a run did, read from its entries; the same entries give the same model without reading them again. */
export function runModel(entries: readonly Envelope[]): RunModel {
  const known = models.get(entries);
  if (known !== undefined) return known;
  const reader = new Reader();
  for (const entry of entries) reader.take(entry);
  const model = reader.finish();
  models.set(entries, model);
  return model;
}

/** No entry is missing between the first and the last. */
export function isWhole(entries: readonly Envelope[]): boolean {
  return entries.length > 0 && entries.at(-1)?.position === entries.length;
}

class Reader {
  private readonly executions = new Map<string, Execution>();
  private readonly events = new Map<number, RunEvent>();
  private readonly model: RunModel = {
    executions: [],
    events: [],
    blueprint: null,
    profileName: null,
    profileVersion: null,
    opened: null,
    ended: null,
    status: null,
    error: null,
    usage: null,
    cost: null,
    seconds: null,
    untaken: [],
  };

  take(entry: Envelope): void {
    if (entry.type === "run_opened") this.open(entry);
    else if (entry.type === "execution_due") this.due(entry);
    else if (entry.type === "model_called") this.modelCalled(entry);
    else if (entry.type === "execution_finished") this.finished(entry);
    else if (entry.type === "execution_failed") this.failed(entry);
    else if (entry.type === "run_ended") this.end(entry);
    else if (!CONTROL.has(entry.type)) this.event(entry);
  }

  finish(): RunModel {
    for (const execution of this.executions.values()) {
      for (const position of execution.inputs) this.events.get(position)?.takenBy.push(execution.id);
    }
    return { ...this.model, executions: [...this.executions.values()], events: [...this.events.values()] };
  }

  private open({ time, data }: Envelope): void {
    this.model.opened = moment(time);
    this.model.blueprint = text(data, "blueprint");
    this.model.profileName = text(data, "profile_name") ?? text(data, "profile");
    this.model.profileVersion = number(data, "profile_version");
  }

  /** It is written when the model has answered, and tells how long that took. */
  private modelCalled({ position, time, data }: Envelope): void {
    const to = moment(time);
    const from = to - (number(data, "duration_seconds") ?? 0) * 1000;
    const execution = this.executions.get(text(data, "execution") ?? "");
    execution?.waits.push({ from, to });
    const [model, task] = [text(data, "model") ?? "", text(data, "task") ?? ""];
    execution?.calls.push({ position, model, task, hasPrompt: data.has_prompt === true });
  }

  private due({ position, time, data }: Envelope): void {
    const id = text(data, "execution");
    if (id === null) return;
    const before = this.executions.get(id);
    this.executions.set(id, {
      id,
      step: text(data, "step") ?? "?",
      label: (data.label as ServerText | null | undefined) ?? null,
      icon: text(data, "icon"),
      scope: text(data, "scope"),
      attempt: number(data, "attempt") ?? 1,
      status: "working",
      due: before?.due ?? moment(time),
      end: null,
      duePosition: before?.duePosition ?? position,
      endPosition: null,
      inputs: positions(data.binding),
      outputs: [],
      error: null,
      retryAt: null,
      waits: [],
      calls: [],
      asks: before?.asks ?? [],
    });
  }

  private finished({ position, time, data }: Envelope): void {
    this.change(data, {
      status: data.discarded === true ? "dropped" : "done",
      end: moment(time),
      endPosition: position,
      outputs: positions(data.outputs),
    });
  }

  private failed({ position, time, data }: Envelope): void {
    const retryAt = text(data, "retry_at");
    this.change(data, {
      status: retryAt === null ? "failed" : "working",
      end: retryAt === null ? moment(time) : null,
      endPosition: position,
      error: failure(data),
      retryAt,
    });
  }

  private change(data: Record<string, unknown>, change: Partial<Execution>): void {
    const execution = this.executions.get(text(data, "execution") ?? "");
    if (execution !== undefined) Object.assign(execution, change);
  }

  private event({ position, type, label, icon, time, display, data, cause }: Envelope): void {
    const from = cause ?? null;
    this.asked(position, moment(time), data, from);
    this.events.set(position, {
      position,
      type,
      label: label ?? null,
      icon: icon ?? null,
      time,
      display: display === true,
      data,
      from,
      answers: number(data, "answers"),
      takenBy: [],
    });
  }

  /** A request to people, or a timer, is open until an event answers its position. */
  private asked(position: number, time: number, data: Record<string, unknown>, from: string | null): void {
    const kind = ASKS[text(data, "asks") ?? ""];
    if (kind !== undefined) {
      const ask = { position, kind, from: time, to: null };
      this.executions.get(from ?? "")?.asks.push(ask);
    }
    const answers = number(data, "answers");
    if (answers !== null) this.closeAsks(time, (ask) => ask.position === answers);
  }

  private closeAsks(time: number, which: (ask: Execution["asks"][number]) => boolean): void {
    for (const execution of this.executions.values()) {
      for (const ask of execution.asks) if (ask.to === null && which(ask)) ask.to = time;
    }
  }

  private end({ time, data }: Envelope): void {
    const status = text(data, "status");
    this.model.ended = moment(time);
    this.model.status = status === "failed" || status === "stopped" ? status : "completed";
    this.model.error = failure(data);
    this.model.usage = usage(data);
    this.model.cost = number(data, "cost");
    this.model.seconds = number(data, "duration_seconds");
    this.model.untaken = texts(data, "untaken");
    this.closeAsks(this.model.ended, () => true);
    // A step that worked when the run ended, ended with it.
    for (const execution of this.executions.values()) {
      if (execution.status === "working") Object.assign(execution, { status: "dropped", end: this.model.ended });
    }
  }
}

/** Whether something that this execution asked is still open. */
export function isWaiting(execution: Execution): boolean {
  return execution.status === "done" && execution.asks.some((ask) => ask.to === null);
}

/** Positions, whether given flat or in groups, one for each parameter of the step. */
function positions(value: unknown): number[] {
  return Array.isArray(value) ? value.flat(2).filter((one): one is number => typeof one === "number") : [];
}

/** "Conversation.gate" -> ["Conversation", "gate"]; "begin" -> [null, "begin"]. */
export function stepName(execution: Pick<Execution, "step" | "scope">): [string | null, string] {
  const dot = execution.step.lastIndexOf(".");
  if (dot < 0) return [execution.scope, execution.step];
  return [execution.step.slice(0, dot), execution.step.slice(dot + 1)];
}

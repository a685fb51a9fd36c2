import type { Message, RunFacts, ThreadState } from "./state";

/** A person's message and all that answers it on the shown path. */
export interface Turn {
  id: string;
  question: Message | null;
  replies: Message[];
}

/** The messages from the first to the newest; or through `chosen`, and on from there by the newest. */
export function shownPath(thread: ThreadState, chosen: string | null = null): Message[] {
  const through = chosen === null ? null : chainTo(thread, chosen);
  if (through !== null) return descend(thread, through);
  for (const id of thread.order.toReversed()) {
    const chain = chainTo(thread, id);
    if (chain !== null) return chain;
  }
  return [];
}

/** From the root to this message; null when it or what it hangs on was retracted. */
function chainTo(thread: ThreadState, id: string): Message[] | null {
  const chain: Message[] = [];
  let message = thread.messages[id];
  if (message === undefined) return null;
  while (message !== undefined) {
    if (message.retracted || chain.length > thread.order.length) return null;
    chain.push(message);
    message = message.parent === null ? undefined : thread.messages[message.parent];
  }
  return chain.reverse();
}

function descend(thread: ThreadState, path: Message[]): Message[] {
  const children = newestChildren(thread);
  const whole = [...path];
  for (;;) {
    const last = whole.at(-1);
    const next = last === undefined ? undefined : children.get(last.id);
    if (next === undefined) return whole;
    whole.push(next);
  }
}

function newestChildren(thread: ThreadState): Map<string, Message> {
  const newest = new Map<string, Message>();
  for (const id of thread.order) {
    const message = thread.messages[id];
    if (message?.parent != null && !message.retracted) newest.set(message.parent, message);
  }
  return newest;
}

/** With the questions that were asked in the conversation and never answered, which hang beside the path. */
export function withQuestions(thread: ThreadState, path: readonly Message[]): Message[] {
  const asked = Object.values(thread.messages).filter((one) => one.asks !== null && !one.retracted);
  if (asked.length === 0) return [...path];
  const shown = new Set(path.map((one) => one.id));
  return path.flatMap((one) => [one, ...asked.filter((other) => other.parent === one.id && !shown.has(other.id))]);
}

export function turnsOf(path: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of path) {
    const turn = turns.at(-1);
    if (message.role === "user" || turn === undefined) {
      const question = message.role === "user" ? message : null;
      turns.push({ id: message.id, question, replies: question === null ? [message] : [] });
    } else {
      turn.replies.push(message);
    }
  }
  return turns;
}

/** The run that works, or waits, in this thread now, if one does. */
export function workingRun(thread: ThreadState): RunFacts | null {
  const open = Object.values(thread.runs).filter((run) => ["working", "waiting", "queued"].includes(run.status));
  return open.find((run) => run.status !== "queued") ?? open[0] ?? null;
}

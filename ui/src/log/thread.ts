import type { Envelope, RunStatus } from "../api/types";
import { failure, number, record, text, texts, usage } from "./read";
import { openedRequest, requestAfter } from "./requests";
import { emptyThread, follows, mergeByPosition, unknownOf, type Message, type RunFacts, type ThreadState } from "./state";

/** Takes in envelopes of this thread, in any order and however often; the thread is the fold of them by position. */
export function foldThread(thread: ThreadState, envelopes: readonly Envelope[]): ThreadState {
  const fresh = unknownOf(thread.log, envelopes);
  if (fresh.length === 0) return thread;
  const log = mergeByPosition(thread.log, fresh);
  // What comes after all that is known goes on from it; what comes before changes what it meant.
  const folded = follows(thread.log, fresh)
    ? fresh.reduce(applyEnvelope, thread)
    : log.reduce(applyEnvelope, emptyThread(thread.id));
  return { ...folded, log };
}

function applyEnvelope(thread: ThreadState, envelope: Envelope): ThreadState {
  const apply = APPLIES[envelope.type];
  return apply === undefined ? thread : apply(thread, envelope);
}

type Apply = (thread: ThreadState, envelope: Envelope) => ThreadState;

/** Unknown types are facts of a newer server and are passed over. */
const APPLIES: Record<string, Apply | undefined> = {
  thread_created: (thread, { data }) => ({ ...thread, title: text(data, "title"), profile: text(data, "profile") }),
  thread_renamed: (thread, { data }) => ({
    ...thread,
    title: text(data, "title"),
    titleSource: text(data, "source"),
  }),
  message_posted: postMessage,
  message_moved: moveMessage,
  message_retracted: (thread, { data }) => changeMessage(thread, text(data, "message_id"), { retracted: true }),
  run_requested: requestRun,
  run_steered: steerRun,
  steering_taken: takeSteering,
  stop_requested: (thread, { data }) => changeRun(thread, text(data, "run_id"), { stopping: true }),
  run_started: startRun,
  run_paused: (thread, { data }) =>
    changeRun(thread, text(data, "run_id"), {
      status: "waiting",
      until: text(data, "until"),
      pausedFor: texts(data, "requests"),
    }),
  run_resumed: (thread, { data }) => changeRun(thread, text(data, "run_id"), { status: "working", ...NOT_PAUSED }),
  run_ended: endRun,
  request_opened: openRequest,
  request_answered: answerRequest,
  request_closed: closeRequest,
};

const NOT_PAUSED: Pick<RunFacts, "until" | "pausedFor"> = { until: null, pausedFor: [] };

function postMessage(thread: ThreadState, { data, time, actor, run: about }: Envelope): ThreadState {
  const id = text(data, "message_id");
  if (id === null) return thread;
  const asks = text(data, "request_id");
  // A question in the conversation is no reply of its run, but it is the run's.
  const run = text(data, "run_id") ?? (asks === null ? null : (about ?? null));
  const message: Message = {
    id,
    parent: text(data, "parent_id"),
    role: data.role === "assistant" ? "assistant" : "user",
    content: text(data, "content") ?? "",
    posted: true,
    retracted: false,
    run,
    asks,
    incomplete: data.incomplete === true,
    error: failure(data),
    followUps: texts(data, "follow_ups"),
    time,
    actor: actor ?? null,
    meanwhile: null,
  };
  return putMessage(thread, message);
}

function requestRun(thread: ThreadState, { data, time, actor }: Envelope): ThreadState {
  const id = text(data, "run_id");
  if (id === null) return thread;
  const question = text(data, "message_id");
  const steerable = data.steerable === true;
  const run = { ...newRun(id, time), question, below: question, steerable, ...profileOf(data) };
  const reply: Message = {
    id,
    parent: question,
    role: "assistant",
    content: "",
    posted: false,
    retracted: false,
    run: id,
    asks: null,
    incomplete: false,
    error: null,
    followUps: [],
    time,
    actor: actor ?? null,
    meanwhile: null,
  };
  // What no step of another run has taken is a question of its own now.
  const asking = changeMessage(thread, question, { meanwhile: null });
  const asked = { ...asking, runs: { ...asking.runs, [id]: run } };
  return id in thread.messages ? asked : putMessage(asked, reply);
}

/** What is said into a run stands in its turn, the reply to come below it. */
function steerRun(thread: ThreadState, { data }: Envelope): ThreadState {
  const id = text(data, "run_id");
  const message = text(data, "message_id");
  const run = id === null ? undefined : thread.runs[id];
  if (run === undefined || message === null) return thread;
  const said = changeMessage(thread, message, { meanwhile: "coming" });
  return hangReply(changeRun(said, run.id, { coming: [...run.coming, message] }), run.id);
}

function takeSteering(thread: ThreadState, { data }: Envelope): ThreadState {
  const id = text(data, "run_id");
  const message = text(data, "message_id");
  const run = id === null ? undefined : thread.runs[id];
  if (run === undefined || message === null) return thread;
  const taken = changeMessage(thread, message, { meanwhile: "taken" });
  const coming = run.coming.filter((one) => one !== message);
  return hangReply(changeRun(taken, run.id, { coming, below: message }), run.id);
}

function moveMessage(thread: ThreadState, { data, run }: Envelope): ThreadState {
  const message = thread.messages[text(data, "message_id") ?? ""];
  if (message === undefined) return thread;
  const moved = putMessage(thread, { ...message, parent: text(data, "parent_id") });
  return run == null ? moved : hangReply(moved, run);
}

/** The reply to come stands below all that was said into its run. */
function hangReply(thread: ThreadState, id: string): ThreadState {
  const run = thread.runs[id];
  const reply = thread.messages[id];
  if (run === undefined || reply === undefined || reply.posted) return thread;
  const last = run.coming.at(-1) ?? run.below ?? reply.parent;
  const order = [...thread.order.filter((one) => one !== id), id];
  return { ...putMessage(thread, { ...reply, parent: last }), order };
}

function startRun(thread: ThreadState, { data, time }: Envelope): ThreadState {
  const change = { status: "working" as const, started: time, ...profileOf(data) };
  return changeRun(thread, text(data, "run_id"), change, time);
}

function endRun(thread: ThreadState, { data, time }: Envelope): ThreadState {
  const change = {
    status: ended(text(data, "status")),
    stopping: false,
    ...NOT_PAUSED,
    ended: time,
    error: failure(data),
    usage: usage(data),
    cost: number(data, "cost"),
    seconds: number(data, "duration_seconds"),
    steps: number(data, "steps"),
  };
  return changeRun(thread, text(data, "run_id"), change, time);
}

function openRequest(thread: ThreadState, envelope: Envelope): ThreadState {
  const request = openedRequest(envelope);
  return request === null ? thread : { ...thread, requests: { ...thread.requests, [request.id]: request } };
}

function changeRequest(thread: ThreadState, envelope: Envelope): ThreadState {
  const before = thread.requests[text(envelope.data, "request_id") ?? ""];
  if (before === undefined) return thread;
  return { ...thread, requests: { ...thread.requests, [before.id]: requestAfter(before, envelope) } };
}

/** The reply of a run that asked in the conversation stands below the message that answered it. */
function answerRequest(thread: ThreadState, envelope: Envelope): ThreadState {
  const answered = changeRequest(thread, envelope);
  const reply = answered.messages[text(envelope.data, "run_id") ?? ""];
  const message = text(record(envelope.data.response) ?? {}, "message_id");
  if (reply === undefined || reply.posted || message === null) return answered;
  const below = changeRun(answered, reply.id, { below: message });
  return hangReply(below, reply.id);
}

/** What the run says after a question that nobody answered is the newest there. */
function closeRequest(thread: ThreadState, envelope: Envelope): ThreadState {
  const closed = changeRequest(thread, envelope);
  const request = thread.requests[text(envelope.data, "request_id") ?? ""];
  if (request?.kind !== "chat" || !(request.run in thread.messages)) return closed;
  return { ...closed, order: [...closed.order.filter((id) => id !== request.run), request.run] };
}

function ended(status: string | null): RunStatus {
  return status === "failed" || status === "stopped" ? status : "completed";
}

function profileOf(data: Record<string, unknown>): Partial<RunFacts> {
  const known: Partial<RunFacts> = {};
  const profile = text(data, "profile");
  const name = text(data, "profile_name");
  const version = number(data, "profile_version");
  if (profile !== null) known.profile = profile;
  if (name !== null) known.profileName = name;
  if (version !== null) known.profileVersion = version;
  return known;
}

function newRun(id: string, time: string): RunFacts {
  return {
    id,
    question: null,
    below: null,
    steerable: false,
    coming: [],
    status: "queued",
    stopping: false,
    ...NOT_PAUSED,
    profile: null,
    profileName: null,
    profileVersion: null,
    requested: time,
    started: null,
    ended: null,
    error: null,
    usage: null,
    cost: null,
    seconds: null,
    steps: null,
  };
}

/** One that moves to another place in the tree is the newest there. */
function putMessage(thread: ThreadState, message: Message): ThreadState {
  const before = thread.messages[message.id];
  const others = before === undefined ? thread.order : thread.order.filter((id) => id !== message.id);
  const order = before?.parent === message.parent ? thread.order : [...others, message.id];
  return { ...thread, order, messages: { ...thread.messages, [message.id]: message } };
}

function changeMessage(thread: ThreadState, id: string | null, change: Partial<Message>): ThreadState {
  const message = id === null ? undefined : thread.messages[id];
  if (message === undefined) return thread;
  return { ...thread, messages: { ...thread.messages, [message.id]: { ...message, ...change } } };
}

/** A run whose request is older than what was read of the log begins with what is known of it. */
function changeRun(thread: ThreadState, id: string | null, change: Partial<RunFacts>, time = ""): ThreadState {
  if (id === null) return thread;
  const run = thread.runs[id] ?? newRun(id, time);
  return { ...thread, runs: { ...thread.runs, [id]: { ...run, ...change } } };
}

import type { PersonRequest } from "../api/types";
import type { LogMaker } from "./envelopes";

/** A free question of run r1 in thread t1. */
export function requestOf(id: string, change: Partial<PersonRequest> = {}): PersonRequest {
  return {
    id,
    run: "r1",
    workspace: "w1",
    thread: "t1",
    profile: "assistant",
    profile_name: "Assistant",
    kind: "input",
    type: "AskWords",
    label: "Question",
    icon: "question",
    question: `What about ${id}?`,
    details: "",
    subject: "",
    choices: [],
    only_choices: false,
    default: null,
    confirm_label: null,
    decline_label: null,
    response_schema: {},
    recipients: [],
    asked: "2026-01-05T09:00:00Z",
    expires: null,
    status: "open",
    closed: null,
    answer: null,
    answered_by: null,
    may_answer: true,
    ...change,
  };
}

/** The run asks, and waits. */
export function ask(maker: LogMaker, request: PersonRequest): void {
  const { id, run, kind, thread } = request;
  maker.add("request_opened", { run_id: run, request_id: id, kind, request, expires: request.expires }, thread ?? "");
  maker.add("run_paused", { run_id: run, requests: [id], until: request.expires }, thread ?? "");
}

/** Somebody answers, and the run goes on. */
export function answer(maker: LogMaker, { id, run, kind, thread }: PersonRequest, response: Record<string, unknown>) {
  maker.add("request_answered", { run_id: run, request_id: id, kind, response }, thread ?? "");
  maker.add("run_resumed", { run_id: run }, thread ?? "");
}

import type { Envelope, PersonRequest } from "../api/types";
import { record, text } from "./read";
import type { RunFacts, ThreadState } from "./state";

/** The request that `request_opened` tells of. */
export function openedRequest({ data }: Envelope): PersonRequest | null {
  const request = record(data.request);
  if (request === null || text(request, "id") === null || text(request, "kind") === null) return null;
  return request as unknown as PersonRequest;
}

/** The request after `request_answered` or `request_closed`: the first of them counts. */
export function requestAfter(request: PersonRequest, { type, data, time, actor }: Envelope): PersonRequest {
  if (request.status !== "open") return request;
  const closed = { ...request, closed: time, may_answer: false };
  if (type === "request_answered") {
    return { ...closed, status: "answered", answer: record(data.response), answered_by: actor ?? null };
  }
  const reason = text(data, "reason");
  if (reason === "timed_out") return { ...closed, status: "timed_out" };
  return { ...closed, status: reason === "answered" ? "answered" : "closed" };
}

export function requestsOf(thread: ThreadState, run: string): PersonRequest[] {
  return Object.values(thread.requests).filter((request) => request.run === run);
}

/** Whom or what a waiting run waits for; null where it works, or is about to: its answer is given. */
export type WaitsFor = "you" | "others" | "time" | "runs" | null;

export function waitsFor(run: RunFacts, requests: readonly PersonRequest[]): WaitsFor {
  if (run.status !== "waiting") return null;
  const open = requests.filter((request) => request.status === "open");
  if (open.some((request) => request.may_answer)) return "you";
  if (open.length > 0) return "others";
  if (run.pausedFor.length > 0) return null;
  return run.until === null ? "runs" : "time";
}

import type { Envelope, PersonRequest } from "../api/types";
import { text } from "./read";
import { openedRequest, requestAfter } from "./requests";

/** What waits for the person, and what came of that which did since the page was opened. */
export interface Inbox {
  open: Readonly<Record<string, PersonRequest>>;
  closed: Readonly<Record<string, PersonRequest>>;
}

export const NO_INBOX: Inbox = { open: {}, closed: {} };

/** One fact of the log; what it does not concern leaves it as it is. */
export function foldInbox(inbox: Inbox, envelope: Envelope): Inbox {
  if (envelope.type === "request_opened") return open(inbox, openedRequest(envelope));
  if (envelope.type !== "request_answered" && envelope.type !== "request_closed") return inbox;
  const id = text(envelope.data, "request_id") ?? "";
  const before = inbox.open[id];
  if (before !== undefined) return close(inbox, requestAfter(before, envelope));
  const known = inbox.closed[id];
  if (known === undefined) return inbox;
  // It was closed here first; the log says who, when and what.
  const told = requestAfter({ ...known, status: "open", answer: null, answered_by: null }, envelope);
  return known.closed === told.closed ? inbox : { ...inbox, closed: { ...inbox.closed, [id]: told } };
}

function open(inbox: Inbox, request: PersonRequest | null): Inbox {
  if (request?.may_answer !== true || request.id in inbox.closed || request.id in inbox.open) return inbox;
  return { ...inbox, open: { ...inbox.open, [request.id]: request } };
}

/** The request is no longer open, as the server or the log has told. */
export function close(inbox: Inbox, request: PersonRequest): Inbox {
  if (request.status === "open" || (request.id in inbox.closed && !(request.id in inbox.open))) return inbox;
  const { [request.id]: _gone, ...rest } = inbox.open;
  return { open: rest, closed: { ...inbox.closed, [request.id]: request } };
}

/** What the server has read. What the log has told since the reading began, which was then `before`, is newer. */
export function takeInbox(inbox: Inbox, before: Inbox, items: readonly PersonRequest[]): Inbox {
  const read = items.filter((one) => !(one.id in inbox.closed));
  const since = Object.values(inbox.open).filter((one) => !(one.id in before.open));
  return { ...inbox, open: Object.fromEntries([...read, ...since].map((one) => [one.id, one])) };
}

/** Those that expire first on top, then those that wait longest; ids break ties. */
export function sortedInbox(inbox: Inbox): PersonRequest[] {
  return Object.values(inbox.open).sort(
    (a, b) =>
      dueOf(a) - dueOf(b) || Date.parse(a.asked) - Date.parse(b.asked) || a.id.localeCompare(b.id),
  );
}

function dueOf(request: PersonRequest): number {
  return request.expires === null ? Number.MAX_SAFE_INTEGER : Date.parse(request.expires);
}

/** What was closed last comes first. */
export function closedRequests(inbox: Inbox): PersonRequest[] {
  return Object.values(inbox.closed).sort((a, b) => (b.closed ?? "").localeCompare(a.closed ?? ""));
}

import { create } from "zustand";
import type { Envelope, PersonRequest, ScheduleFailure } from "../api/types";
import * as server from "../client/endpoints";
import { close, foldInbox, NO_INBOX, takeInbox, type Inbox } from "../log/inbox";

interface InboxStore {
  inbox: Inbox;
  /** Requests for which the person's answer came too late, and the code with which the server said so. */
  late: Readonly<Record<string, string>>;
  loading: "loading" | "ready" | "failed";
  /** Schedules whose runs have failed, until somebody puts that away. */
  failures: readonly ScheduleFailure[];
}

export const useInbox = create<InboxStore>()(() => ({
  inbox: NO_INBOX,
  late: {},
  loading: "loading",
  failures: [],
}));

const { getState: get, setState: set } = useInbox;

let reading: Promise<void> | null = null;
let era = 0;

/** Reads what waits for the person; who asks while it is read shares the reading. */
export function loadInbox(): Promise<void> {
  reading ??= Promise.all([readInbox(), readFailures()])
    .then(() => undefined)
    .finally(() => {
      reading = null;
    });
  return reading;
}

/** Those who may edit no profile have none. */
async function readFailures(): Promise<void> {
  const asked = era;
  try {
    const { items } = await server.listScheduleFailures();
    if (asked === era) set({ failures: items });
  } catch {
    // What was read before is still true as far as anybody knows here.
  }
}

/** Puts a failure away, here at once; rejects where the server did not. */
export async function putAway(failure: ScheduleFailure): Promise<void> {
  const before = get().failures;
  set({ failures: before.filter((one) => one !== failure) });
  try {
    await server.dismissFailure(failure.profile, failure.run);
  } catch (error) {
    set({ failures: before });
    throw error;
  }
}

async function readInbox(): Promise<void> {
  const before = get().inbox;
  const asked = era;
  if (get().loading === "failed") set({ loading: "loading" });
  try {
    const items: PersonRequest[] = [];
    let cursor: string | undefined;
    do {
      const page = await server.readInbox(cursor);
      items.push(...page.items);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    if (asked === era) set({ inbox: takeInbox(get().inbox, before, items), loading: "ready" });
  } catch {
    // What was read before is still true as far as anybody knows here.
    if (asked === era && get().loading === "loading") set({ loading: "failed" });
  }
}

/** One fact of the log. */
export function noteInLog(envelope: Envelope): void {
  const { inbox } = get();
  const next = foldInbox(inbox, envelope);
  if (next !== inbox) set({ inbox: next });
}

/** The request as the server has just told it: who answers another way than the log sees it closed at once. */
export function noteRequest(request: PersonRequest): void {
  set({ inbox: close(get().inbox, request) });
}

export function noteLate(id: string, code: string): void {
  set({ late: { ...get().late, [id]: code } });
}

export function forgetInbox(): void {
  era += 1;
  reading = null;
  set({ inbox: NO_INBOX, late: {}, loading: "loading", failures: [] });
}

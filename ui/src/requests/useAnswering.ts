import { useCallback, useRef, useState } from "react";
import type { Answer, PersonRequest } from "../api/types";
import * as server from "../client/endpoints";
import { Refused } from "../client/http";
import { newId } from "../client/ids";
import { keepDraft } from "../store/drafts";
import { noteLate, noteRequest } from "../store/inbox";
import { useSession } from "../store/session";

/** Where what was typed for a request, and not sent, is kept. */
export const draftOf = (request: string): string => `request.${request}`;

/** What the server says when another answer, the time or the end came first. */
const LATE = new Set(["request_answered", "request_timed_out", "request_closed"]);

export interface Answering {
  /** The answer that is on its way. */
  sending: Answer | null;
  error: unknown;
  answer: (answer: Answer) => void;
  retry: () => void;
}

/** Sends an answer once, however often it is tried; the request then closes here, before the log tells so. */
export function useAnswering(request: PersonRequest): Answering {
  const [sending, setSending] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const account = useSession((state) => state.session?.account);
  const tried = useRef<{ answer: string; key: string } | null>(null);
  const last = useRef<Answer | null>(null);
  const busy = useRef(false);

  const answer = useCallback(
    (given: Answer) => {
      if (busy.current) return;
      busy.current = true;
      last.current = given;
      setSending(given);
      setError(null);
      const text = JSON.stringify(given);
      if (tried.current?.answer !== text) tried.current = { answer: text, key: newId() };
      const by = { kind: "user" as const, ...(account === undefined ? {} : { id: account.id, name: account.name }) };
      const accepted = () => {
        keepDraft(draftOf(request.id), "");
        const closed = { closed: new Date().toISOString(), may_answer: false };
        noteRequest({ ...request, ...closed, status: "answered", answer: meant(request, given), answered_by: by });
      };
      server
        .answerRequest(request.id, given, tried.current.key)
        .then(accepted, (reason: unknown) => refused(request.id, reason).catch(() => setError(reason)))
        .finally(() => {
          busy.current = false;
          setSending(null);
        });
    },
    [request, account],
  );
  const retry = useCallback(() => {
    if (last.current !== null) answer(last.current);
  }, [answer]);
  return { sending, error, answer, retry };
}

/** A blank answer stands for the default. */
function meant({ default: standard }: PersonRequest, given: Answer): Answer {
  const blank = typeof given.text === "string" && given.text.trim() === "";
  return blank && typeof standard === "string" ? { ...given, text: standard } : given;
}

/** Something else came first: what that was is read, and told. Any other refusal is thrown on. */
async function refused(id: string, reason: unknown): Promise<void> {
  if (!(reason instanceof Refused) || !LATE.has(reason.problem.code)) throw reason;
  noteRequest(await server.readRequest(id));
  noteLate(id, reason.problem.code);
}

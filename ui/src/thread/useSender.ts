import { useCallback, useRef, useState } from "react";
import type { When } from "../api/types";
import { newId } from "../client/ids";
import { TooLarge } from "../parts/explain";
import { keepDraft, readDraft } from "../store/drafts";
import { useSession } from "../store/session";

export interface Outgoing {
  /** The same for each try of the same text, so that a retry cannot post it twice. */
  message_id: string;
  content: string;
  when: When;
}

export interface Sender {
  text: string;
  setText: (text: string) => void;
  sending: boolean;
  error: unknown;
  /** Sends what is in the box. */
  submit: (when: When) => Promise<void>;
  /** Sends a question that was not typed, and leaves the box alone unless it fails. */
  submitText: (content: string) => Promise<void>;
  retry: () => Promise<void>;
}

/** The text in the box leaves it only when the server has taken it; until then nothing of it is shown elsewhere. */
export function useSender(place: string, send: (message: Outgoing) => Promise<unknown>): Sender {
  const [text, show] = useState(() => readDraft(place));
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const limit = useSession((state) => state.info?.limits.message_bytes);
  const current = useRef(text);
  const failed = useRef<Outgoing | null>(null);
  const busy = useRef(false);

  const setText = useCallback(
    (next: string) => {
      current.current = next;
      show(next);
      keepDraft(place, next);
    },
    [place],
  );

  const deliver = useCallback(
    async (message: Outgoing) => {
      if (busy.current) return;
      busy.current = true;
      setSending(true);
      setError(null);
      try {
        const tooLarge = limit !== undefined && new Blob([message.content]).size > limit;
        if (tooLarge) throw new TooLarge(limit);
        await send(message);
        failed.current = null;
        if (current.current.trim() === message.content) setText("");
      } catch (reason) {
        failed.current = message;
        if (current.current.trim() === "") setText(message.content);
        setError(reason);
      } finally {
        busy.current = false;
        setSending(false);
      }
    },
    [limit, send, setText],
  );

  const outgoing = useCallback((content: string, when: When): Outgoing => {
    const again = failed.current;
    return again?.content === content ? { ...again, when } : { message_id: newId(), content, when };
  }, []);
  const submit = useCallback(
    async (when: When) => {
      const content = current.current.trim();
      if (content !== "") await deliver(outgoing(content, when));
    },
    [deliver, outgoing],
  );
  const submitText = useCallback(
    (content: string) => deliver(outgoing(content, "next")),
    [deliver, outgoing],
  );
  const retry = useCallback(async () => {
    const again = failed.current;
    const typed = current.current.trim();
    if (again !== null) await deliver(typed === "" ? again : outgoing(typed, again.when));
  }, [deliver, outgoing]);

  return { text, setText, sending, error, submit, submitText, retry };
}

import { createParser } from "eventsource-parser";

export interface StreamEvent {
  /** `message` when the server named none. */
  event: string;
  id: string | null;
  data: string;
}

export interface ReadOptions {
  onRetry?: (milliseconds: number) => void;
  /** Called for every piece that arrives, keep-alive comments included. */
  onBytes?: () => void;
}

/** Reads server-sent events from bytes, however the network cut them. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { onRetry, onBytes }: ReadOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const ready: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, id, data }) => ready.push({ event: event ?? "message", id: id ?? null, data }),
    ...(onRetry === undefined ? {} : { onRetry }),
  });
  // One decoder for the whole stream: a character cut by a chunk is finished by the next.
  const decoder = new TextDecoder("utf-8");
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes?.();
      parser.feed(decoder.decode(value, { stream: true }));
      yield* ready.splice(0);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

import { open, Refused } from "./http";
import { readEvents, type StreamEvent } from "./sse";

/** `lost` = trying again; `refused` = the server said no and trying again would not help before `restart`. */
export type ConnectionState = "connecting" | "open" | "lost" | "refused" | "closed";

export interface FollowOptions {
  /** Asked before each connection, so it can name the position to resume from. */
  url: () => string;
  /** Return "done" to end for good. */
  onEvent: (event: StreamEvent) => "done" | undefined;
  onState?: (state: ConnectionState) => void;
  random?: () => number;
}

export interface Following {
  /** Connects anew at once: the watched set changed, or the network came back. */
  restart: () => void;
  close: () => void;
}

/** The server comments every 15 s; three times that in silence is a dead connection. */
const SILENCE_MS = 45_000;
const FIRST_RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 30_000;

/** Doubles with each failure, and spreads clients over half of it so that they do not all return at once. */
export function retryDelay(failures: number, base: number, random: () => number): number {
  const whole = Math.min(base * 2 ** Math.max(0, failures - 1), LONGEST_RETRY_MS);
  return Math.round(whole * (0.5 + random() / 2));
}

/** Holds one stream open: reconnects with growing, jittered pauses until `close` or "done". */
export function follow(options: FollowOptions): Following {
  const follower = new Follower(options);
  void follower.run();
  return follower;
}

class Follower implements Following {
  private closed = false;
  private failures = 0;
  private retryMs = FIRST_RETRY_MS;
  private attempt = new AbortController();
  private wake: (() => void) | null = null;
  private restarting = false;

  constructor(private readonly options: FollowOptions) {}

  restart(): void {
    this.restarting = true;
    this.failures = 0;
    this.attempt.abort();
    this.wake?.();
  }

  close(): void {
    this.closed = true;
    this.attempt.abort();
    this.wake?.();
    this.tell("closed");
  }

  async run(): Promise<void> {
    while (!this.closed) {
      this.restarting = false;
      this.attempt = new AbortController();
      const refused = await this.connect().catch((error: unknown) => error instanceof Refused && isFinal(error));
      if (this.isClosed()) return;
      if (this.isRestarting()) continue;
      this.failures += 1;
      this.tell(refused ? "refused" : "lost");
      await this.pause(refused ? null : retryDelay(this.failures, this.retryMs, this.options.random ?? Math.random));
    }
  }

  private isClosed(): boolean {
    return this.closed;
  }

  private isRestarting(): boolean {
    return this.restarting;
  }

  /** One connection, from its request to its end; true when the server does not want to see us again. */
  private async connect(): Promise<boolean> {
    const attempt = this.attempt;
    if (this.failures === 0) this.tell("connecting");
    const response = await open(this.options.url(), { signal: attempt.signal });
    if (response.status === 204 || response.body === null) return true;
    let silence = setTimeout(() => attempt.abort(), SILENCE_MS);
    const onBytes = () => {
      clearTimeout(silence);
      silence = setTimeout(() => attempt.abort(), SILENCE_MS);
    };
    try {
      this.tell("open");
      for await (const event of readEvents(response.body, { onBytes, onRetry: (ms) => (this.retryMs = ms) })) {
        if (attempt.signal.aborted) return false;
        this.failures = 0;
        if (this.options.onEvent(event) === "done") this.close();
      }
    } finally {
      clearTimeout(silence);
    }
    return false;
  }

  private tell(state: ConnectionState): void {
    this.options.onState?.(state);
  }

  private pause(milliseconds: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = milliseconds === null ? undefined : setTimeout(() => this.wake?.(), milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
    });
  }
}

function isFinal(error: Refused): boolean {
  return [401, 403, 404, 410].includes(error.status);
}

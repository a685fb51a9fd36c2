import type { TFunction } from "i18next";
import type { Envelope } from "../api/types";

const KNOWN = [
  "run_opened",
  "execution_due",
  "execution_started",
  "execution_finished",
  "execution_failed",
  "model_called",
  "precondition_answered",
  "ownership_taken",
  "ownership_released",
  "stop_requested",
  "stop_reached",
  "run_ended",
] as const;

/** What an entry of the journal is called: events by their class, the rest in the reader's language. */
export function entryName(entry: Envelope, t: TFunction): string {
  const known = KNOWN.find((type) => type === entry.type);
  return known === undefined ? (entry.type.split(".").at(-1) ?? entry.type) : t(`run.entry.${known}`);
}

import type { LiveFrame, LiveSnapshot } from "../api/types";
import { NO_LIVE, type Live, type LivePart, type LiveResponse } from "./state";

export function isSnapshot(frame: LiveFrame | LiveSnapshot): frame is LiveSnapshot {
  return frame.type === "snapshot";
}

/** One frame more; what is known already is passed over. After a loss the server sends the whole in a snapshot. */
export function addFrame(live: Live, frame: LiveFrame | LiveSnapshot): Live {
  if (isSnapshot(frame)) return frame.n < live.n ? live : fromSnapshot(frame);
  if (frame.n <= live.n) return live;
  const next: Live = { ...live, n: frame.n };
  if (frame.type === "display") return { ...next, display: frame.event ?? null };
  const key = `${frame.attempt}.${frame.response}`;
  const response = live.responses[key] ?? { attempt: frame.attempt, response: frame.response, parts: {} };
  const parts = { ...response.parts, [frame.part]: changedPart(response, frame) };
  return { ...next, responses: { ...live.responses, [key]: { ...response, parts } } };
}

function changedPart(response: LiveResponse, frame: LiveFrame): LivePart {
  const known = response.parts[frame.part];
  const part: LivePart = known ?? { kind: kindOf(frame), text: "", ended: false };
  if (frame.type === "part_ended") return { ...part, ended: true };
  return frame.text == null ? part : { ...part, text: part.text + frame.text };
}

function kindOf(frame: LiveFrame): LivePart["kind"] {
  if (frame.kind != null) return frame.kind;
  if (frame.type === "thinking_delta") return "thinking";
  return frame.type === "tool_args_delta" ? "tool" : "text";
}

function fromSnapshot(snapshot: LiveSnapshot): Live {
  const responses: Record<string, LiveResponse> = {};
  for (const { attempt, response, parts } of snapshot.responses) {
    const all = parts.map(({ part, kind, text, ended }) => [part, { kind, text, ended }] as const);
    responses[`${attempt}.${response}`] = { attempt, response, parts: Object.fromEntries(all) };
  }
  return { ...NO_LIVE, n: snapshot.n, responses };
}

/** The text that streams: of the last attempt, its responses one after another. */
export function liveText(live: Live, kind: "text" | "thinking" = "text"): string {
  const responses = Object.values(live.responses);
  const attempt = Math.max(0, ...responses.map((one) => one.attempt));
  return responses
    .filter((one) => one.attempt === attempt)
    .sort((a, b) => a.response - b.response)
    .map((one) => partsText(one, kind))
    .filter((one) => one !== "")
    .join("\n\n");
}

function partsText(response: LiveResponse, kind: "text" | "thinking"): string {
  return Object.entries(response.parts)
    .sort(([a], [b]) => Number(a) - Number(b))
    .filter(([, part]) => part.kind === kind)
    .map(([, part]) => part.text)
    .join("");
}

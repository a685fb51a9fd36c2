import type { Failure, Usage } from "../api/types";

/** Reads fields of `data`, which comes from outside: what is missing or of another kind is null. */
type Data = Record<string, unknown>;

export function text(data: Data, name: string): string | null {
  const value = data[name];
  return typeof value === "string" ? value : null;
}

export function number(data: Data, name: string): number | null {
  const value = data[name];
  if (typeof value === "number") return value;
  // Money travels as decimal text.
  if (typeof value === "string" && value !== "" && Number.isFinite(Number(value))) return Number(value);
  return null;
}

/** Milliseconds, with the microseconds that `Date` drops: a step may take less than one. */
export function moment(time: string): number {
  const micro = /\.\d{3}(\d{1,3})/.exec(time)?.[1] ?? "";
  return Date.parse(time) + Number(`0.${micro || "0"}`);
}

export function texts(data: Data, name: string): string[] {
  const value = data[name];
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

export function record(value: unknown): Data | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Data) : null;
}

export function failure(data: Data, name = "error"): Failure | null {
  const value = record(data[name]);
  if (value === null) return null;
  return {
    code: text(value, "code") ?? "unknown",
    message: text(value, "message") ?? "",
    what_to_do: text(value, "what_to_do"),
  };
}

export function usage(data: Data): Usage | null {
  const value = record(data.usage);
  if (value === null) return null;
  return { input_tokens: number(value, "input_tokens") ?? 0, output_tokens: number(value, "output_tokens") ?? 0 };
}

import { describe, expect, it } from "vitest";
import { newId } from "./ids";

describe("an id", () => {
  it("is a UUIDv7 in lower case that sorts by time", () => {
    expect(newId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(newId(1_700_000_000_000) < newId(1_700_000_000_001)).toBe(true);
  });
});

import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Envelope } from "../api/types";
import { openApp, settle } from "../testing/app";
import { journalOf } from "../testing/envelopes";
import { FakeServer, json, problem } from "../testing/server";

let server: FakeServer;
const journals: Record<string, Envelope[]> = {};

function record(id: string, change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id,
    thread: null,
    title: `Question of ${id}`,
    profile: "assistant",
    profile_name: "Assistant",
    profile_version: 3,
    blueprint: "LLMWrappingAgent",
    status: "completed",
    started: "2026-01-05T09:01:00Z",
    ended: "2026-01-05T09:01:12Z",
    usage: null,
    cost: null,
    ...change,
  };
}

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-05T10:00:00Z") });
  server = new FakeServer();
  for (const id of ["r1", "r2"]) {
    journals[id] = journalOf(id);
    server.on(`GET /api/runs/${id}`, () => json(record(id)));
    server.on(`GET /api/runs/${id}/timeline`, ({ url }) => {
      const after = Number(url.searchParams.get("after"));
      return json({ items: journals[id]?.filter((one) => one.position > after), next: null, ended: true });
    });
  }
});

async function openCompared(query = "?a=r1&b=r2"): Promise<void> {
  await import("./Compare");
  await openApp(`/runs/compare${query}`);
  await settle();
}

const steps = () => within(screen.getByRole("list", { name: "Steps of both runs" })).getAllByRole("listitem");

describe("two runs side by side", () => {
  it("say where nothing differs, and lead to each", async () => {
    await openCompared();
    expect(screen.getByText("Every step has returned the same.")).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "Question of r1" })).toHaveAttribute("href", "/runs/r1");
    expect(screen.getByRole("link", { name: "Question of r2" })).toHaveAttribute("href", "/runs/r2");
    expect(steps()[0]).toHaveTextContent("the same");
    expect(screen.getAllByRole("img", { name: /^[AB]: / })).toHaveLength(2 * steps().length);
  });

  it("show the fields that differ", async () => {
    const due = journals.r2?.find((one) => one.type === "execution_finished");
    const output = (due?.data.outputs as number[] | undefined)?.[0];
    journals.r2 = journalOf("r2").map((one) =>
      one.position === output ? { ...one, data: { ...one.data, said: "otherwise" } } : one,
    );
    await openCompared();
    expect(screen.getByText("1 step differs.")).toBeInTheDocument();
    expect(screen.getByText("1 field differs")).toBeInTheDocument();
    fireEvent.click(screen.getByText("Show what differs"));
    expect(screen.getByText("otherwise")).toBeInTheDocument();
    expect(screen.getByText("not there")).toBeInTheDocument();
  });

  it("say what only one of them has", async () => {
    journals.r2 = journalOf("r2").filter((one) => one.position < 4);
    await openCompared();
    expect(screen.getAllByText("only in A").length).toBeGreaterThan(0);
    expect(screen.getAllByText("Not in B").length).toBeGreaterThan(0);
  });

  it("that cannot be read are read again", async () => {
    server.on("GET /api/runs/r2", () => problem(503, "storage_busy", "Busy."));
    await openCompared();
    expect(screen.getByText("The runs could not be read.")).toBeInTheDocument();
    server.on("GET /api/runs/r2", () => json(record("r2")));
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await settle();
    expect(screen.getByText("Every step has returned the same.")).toBeInTheDocument();
  });

  it("are to be chosen first", async () => {
    await openCompared("?a=r1");
    expect(screen.getByText(/Choose two runs in the list/)).toBeInTheDocument();
  });
});

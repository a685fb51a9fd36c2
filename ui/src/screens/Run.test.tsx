import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { RunGraph } from "../api/types";
import { openApp, settle } from "../testing/app";
import { journalOf } from "../testing/envelopes";
import { FakeServer, json, problem } from "../testing/server";

const GRAPH: RunGraph = {
  nodes: [
    { id: "start:UserMessageEvent", step: "UserMessageEvent", label: "", icon: null, group: null, kind: "start" },
    { id: "begin", step: "begin", label: "", icon: null, group: null, kind: "step" },
    { id: "Conversation.gate", step: "gate", label: "", icon: null, group: "Conversation", kind: "step" },
    { id: "answer", step: "answer", label: "", icon: null, group: null, kind: "step" },
    { id: "stop:LLMStopEvent", step: "LLMStopEvent", label: "", icon: null, group: null, kind: "stop" },
  ],
  groups: [{ id: "Conversation", label: "Conversation" }],
  edges: [
    { source: "start:UserMessageEvent", target: "begin", event: "UserMessageEvent" },
    { source: "begin", target: "Conversation.gate", event: "ContextualizeRequest" },
    { source: "Conversation.gate", target: "answer", event: "Contextualized" },
    { source: "answer", target: "stop:LLMStopEvent", event: "LLMStopEvent" },
  ],
};

const RECORD = {
  id: "r1",
  tenant: "default",
  workspace: "w1",
  thread: "t1",
  profile: "assistant",
  profile_name: "Assistant",
  profile_version: 3,
  blueprint: "LLMWrappingAgent",
  status: "completed",
  started: "2026-01-05T09:01:00Z",
  ended: "2026-01-05T09:01:01Z",
  started_by: { kind: "user", name: "Anna" },
  usage: { input_tokens: 1000, output_tokens: 500 },
  cost: "0.0081",
  error: null,
  expires: null,
};

let server: FakeServer;
let journal = journalOf("r1");

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-05T10:00:00Z") });
  server = new FakeServer();
  server.thread("t1");
  journal = journalOf("r1");
  server.on("GET /api/runs/r1", () => json(RECORD));
  server.on("GET /api/runs/r1/graph", () => json(GRAPH));
  server.on("GET /api/runs/r1/timeline", ({ url }) => {
    const after = Number(url.searchParams.get("after"));
    return json({ items: journal.filter((one) => one.position > after), next: null, ended: true });
  });
});

async function openRun(): Promise<void> {
  // The run view is a chunk of its own; it is there before the clock is asked.
  await import("./Run");
  await openApp("/runs/r1");
  await settle();
}

const pane = (name: string) => screen.getByRole("region", { name });
const step = (name: RegExp) => within(pane("Graph")).getByRole("button", { name });
const row = (name: RegExp) => within(pane("Timeline")).getByRole("row", { name });
const tab = (name: string) => fireEvent.click(within(pane("Inspector")).getByRole("tab", { name }));

describe("the head of a run", () => {
  it("tells status, agent and version, thread, who began it, time, tokens and cost", async () => {
    await openRun();
    expect(screen.getByRole("heading", { level: 1, name: "Run of Assistant" })).toBeInTheDocument();
    expect(screen.getByRole("status")).toHaveTextContent("Done");
    const facts = screen.getByText("Agent").closest("dl");
    expect(facts).toHaveTextContent(/Assistant v3.*Title of t1.*Anna, .*0\.90 s.*1,500.*\$0\.0081/);
    expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
  });

  it("of a run that belongs to no chat, and is kept for a while, says until when", async () => {
    server.on("GET /api/runs/r1", () => json({ ...RECORD, thread: null, expires: "2026-01-06T09:01:00Z" }));
    await openRun();
    const facts = screen.getByText("Agent").closest("dl");
    expect(facts).not.toHaveTextContent("Title of t1");
    expect(screen.getByText("Kept until").nextSibling).toHaveTextContent(/6.*January|January.*6/);
  });

  it("of a run that does not exist says so", async () => {
    server.on("GET /api/runs/r1", () => problem(404, "not_found", "No."));
    await openRun();
    expect(screen.getByText(/does not exist/)).toBeInTheDocument();
  });
});

describe("one selection", () => {
  it("is shown in all panes", async () => {
    await openRun();
    fireEvent.click(step(/^gate/));
    expect(step(/^gate/)).toHaveAttribute("aria-pressed", "true");
    expect(row(/Conversation\.gate/)).toHaveAttribute("aria-current", "true");
    expect(within(pane("Inspector")).getByRole("heading", { name: "LLMStopEvent" })).toBeInTheDocument();
    fireEvent.click(row(/begin/));
    expect(step(/^begin/)).toHaveAttribute("aria-pressed", "true");
    expect(within(pane("Inspector")).getByRole("heading", { name: "ContextualizeRequest" })).toBeInTheDocument();
  });

  it("walks the causal chain by the arrow keys, and the focus goes with it", async () => {
    await openRun();
    row(/Conversation\.gate/).focus();
    fireEvent.keyDown(row(/Conversation\.gate/), { key: "Enter" });
    fireEvent.keyDown(row(/Conversation\.gate/), { key: "ArrowLeft" });
    expect(within(pane("Inspector")).getByRole("heading", { name: "ContextualizeRequest" })).toBeInTheDocument();
    expect(row(/begin/)).toHaveFocus();
    fireEvent.keyDown(row(/begin/), { key: "ArrowRight" });
    expect(row(/Conversation\.gate/)).toHaveFocus();
  });
});

describe("the graph", () => {
  it("names what was done and what was not reached", async () => {
    await openRun();
    expect(step(/^begin.*done$/)).toBeInTheDocument();
    expect(step(/^answer.*not reached$/)).toBeInTheDocument();
  });
});

describe("the inspector", () => {
  it("shows causes and effects as links", async () => {
    await openRun();
    fireEvent.click(step(/^begin/));
    tab("Cause & effect");
    fireEvent.click(within(pane("Inspector")).getByRole("button", { name: "No. 2 UserMessageEvent" }));
    expect(within(pane("Inspector")).getByText("This is how the run began.")).toBeInTheDocument();
  });

  it("shows the state when the selected event was written", async () => {
    await openRun();
    fireEvent.click(step(/^begin/));
    tab("State");
    expect(pane("Inspector")).toHaveTextContent("When No. 4 was written");
    expect(pane("Inspector")).toHaveTextContent(/Works\s*begin/);
  });

  it("lists every entry of the journal", async () => {
    await openRun();
    tab("Log");
    expect(within(pane("Inspector")).getAllByRole("listitem")).toHaveLength(journal.length);
  });

  it("shows why a step failed", async () => {
    const error = { code: "model_unreachable", message: "The model did not answer.", what_to_do: "Check the URL." };
    const failed = { ...journalOf("r1")[6], type: "execution_failed", data: { execution: "x2", error, retry_at: null } };
    journal = [...journal.slice(0, 6), failed as (typeof journal)[number]];
    await openRun();
    fireEvent.click(row(/Conversation\.gate.*failed/));
    expect(pane("Inspector")).toHaveTextContent("The model did not answer. Check the URL. model_unreachable");
  });
});

describe("a run that works", () => {
  beforeEach(() => {
    server.on("GET /api/runs/r1", () => json({ ...RECORD, status: "working", ended: null, usage: null, cost: null }));
  });

  it("is watched in the one stream, and grows as its entries come", async () => {
    const whole = journal;
    journal = whole.slice(0, 6);
    await openRun();
    expect(server.current.url.searchParams.get("runs")).toBe("r1");
    expect(row(/Conversation\.gate.*working/)).toBeInTheDocument();
    for (const entry of whole.slice(6)) server.current.text(`event: entry\ndata: ${JSON.stringify(entry)}\n\n`);
    await settle();
    expect(row(/Conversation\.gate.*done/)).toBeInTheDocument();
    expect(screen.getByRole("status")).toHaveTextContent("Done");
    expect(server.streams.filter((stream) => stream.open)).toHaveLength(1);
  });

  it("reads what it missed when an entry leaves a hole", async () => {
    const whole = journal;
    journal = whole.slice(0, 2);
    await openRun();
    journal = whole;
    server.current.text(`event: entry\ndata: ${JSON.stringify(whole[9])}\n\n`);
    await settle();
    expect(row(/Conversation\.gate.*done/)).toBeInTheDocument();
  });

  it("can be stopped, and says so when it cannot", async () => {
    journal = journal.slice(0, 6);
    server.on("POST /api/runs/r1/stop", () => problem(500, "internal", "The queue is closed."));
    await openRun();
    fireEvent.click(screen.getByRole("button", { name: "Stop" }));
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("The run could not be stopped. The queue is closed.");
  });
});

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

describe("stepping through", () => {
  const slider = () => screen.getByRole("slider", { name: "Position" });

  it("shows graph, timeline and inspector as the run stood", async () => {
    await openRun();
    fireEvent.change(slider(), { target: { value: "6" } });
    expect(step(/^gate.*working$/)).toBeInTheDocument();
    expect(row(/Conversation\.gate.*working/)).toHaveAttribute("aria-current", "true");
    expect(slider()).toHaveAttribute("aria-valuetext", "No. 6 of 10, Step due");
    tab("Log");
    expect(within(pane("Inspector")).getAllByRole("listitem")).toHaveLength(6);
    expect(screen.getByRole("status")).toHaveTextContent("Done");
  });

  it("goes one entry back and on, and not beyond the ends", async () => {
    await openRun();
    expect(screen.getByRole("button", { name: "One on" })).toHaveAttribute("aria-disabled", "true");
    fireEvent.click(screen.getByRole("button", { name: "One back" }));
    fireEvent.click(screen.getByRole("button", { name: "One back" }));
    expect(slider()).toHaveValue("8");
    expect(within(pane("Inspector")).getByRole("heading", { name: "LLMStopEvent" })).toBeInTheDocument();
    fireEvent.click(screen.getByRole("button", { name: "One on" }));
    expect(slider()).toHaveValue("9");
    fireEvent.change(slider(), { target: { value: "1" } });
    fireEvent.click(screen.getByRole("button", { name: "One back" }));
    expect(slider()).toHaveValue("1");
  });

  it("plays from the beginning to the end, and can be paused", async () => {
    await openRun();
    fireEvent.click(screen.getByRole("button", { name: "Play" }));
    expect(slider()).toHaveValue("1");
    await settle(500);
    await settle(500);
    expect(slider()).toHaveValue("3");
    fireEvent.click(screen.getByRole("button", { name: "Pause" }));
    await settle(2000);
    expect(slider()).toHaveValue("3");
    fireEvent.click(screen.getByRole("button", { name: "Play" }));
    for (let entry = 3; entry < 10; entry += 1) await settle(500);
    expect(slider()).toHaveValue("10");
    expect(screen.getByRole("button", { name: "Play" })).toBeInTheDocument();
  });
});

describe("a fork", () => {
  const open = async () => {
    await openRun();
    fireEvent.click(forkButton());
    await settle();
  };
  // One in the head and one beside the scrubber: the style sheet shows the one there is room for.
  const forkButton = () => {
    const [first] = screen.getAllByRole("button", { name: "Fork from here" });
    if (first === undefined) throw new Error("There is no such button.");
    return first;
  };
  const dialog = () => screen.getByRole("dialog", { name: "Fork this run" });
  const schema = {
    properties: {
      system_prompt: { type: "string", default: "", title: "System prompt" },
      tokens: { type: "integer", default: 128, title: "Tokens" },
    },
  };

  beforeEach(() => {
    const stopped = { ...journal[9], position: 10, type: "stop_reached", data: { event: 8 } } as (typeof journal)[number];
    const ended = { ...journal[9], position: 11 } as (typeof journal)[number];
    const events = journal.slice(0, 9).map((one) => (/^[A-Z]/.test(one.type) ? { ...one, display: false } : one));
    journal = [...events, stopped, ended];
    journal[0] = { ...journal[0], data: { ...journal[0]?.data, config: { system_prompt: "Be kind." } } } as (typeof journal)[number];
    server.on("GET /api/profiles/assistant", () => json({ id: "assistant", name: "Assistant", config_schema: schema }));
  });

  it("says that it calls models, begins where the reader stands, and goes to the new run", async () => {
    server.on("POST /api/runs/r1/fork", () => json({ run_id: "r9", position: 5, first: [] }));
    await openRun();
    fireEvent.click(step(/^begin/));
    fireEvent.click(forkButton());
    await settle();
    expect(dialog()).toHaveTextContent("Forking calls models.");
    expect(within(dialog()).getByLabelText("From No.")).toHaveValue(4);
    expect(dialog()).toHaveTextContent("ContextualizeRequest");
    const prompt = within(dialog()).getByLabelText("System prompt");
    expect(prompt).toHaveValue("Be kind.");
    fireEvent.change(prompt, { target: { value: "Be brief." } });
    expect(dialog()).toHaveTextContent("System promptChanged");
    fireEvent.click(within(dialog()).getByRole("button", { name: "Fork and run" }));
    await settle();
    const sent = server.calls.find((call) => call.path === "/api/runs/r1/fork");
    expect(sent?.body).toMatchObject({ position: 4, config: { system_prompt: "Be brief." } });
    expect(window.location.pathname).toBe("/runs/r9");
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("cannot be asked for beyond the last position, nor with what is no value", async () => {
    await open();
    const from = within(dialog()).getByLabelText("From No.");
    expect(from).toHaveValue(7);
    fireEvent.change(from, { target: { value: "9" } });
    expect(dialog()).toHaveTextContent("From 2 to 7");
    fireEvent.change(from, { target: { value: "7" } });
    fireEvent.change(within(dialog()).getByLabelText("Tokens"), { target: { value: "1.5" } });
    expect(dialog()).toHaveTextContent("This cannot be read as a value.");
    fireEvent.click(within(dialog()).getByRole("button", { name: "Fork and run" }));
    await settle();
    expect(server.count("POST", "/api/runs/r1/fork")).toBe(0);
  });

  it("that is refused says why and keeps what was written", async () => {
    server.on("POST /api/runs/r1/fork", () => problem(422, "profile_invalid", "The settings are not valid."));
    await open();
    fireEvent.change(within(dialog()).getByLabelText("System prompt"), { target: { value: "Odd" } });
    fireEvent.click(within(dialog()).getByRole("button", { name: "Fork and run" }));
    await settle();
    expect(within(dialog()).getByRole("alert")).toHaveTextContent("The run was not forked. The settings are not valid.");
    expect(within(dialog()).getByLabelText("System prompt")).toHaveValue("Odd");
    fireEvent.click(within(dialog()).getByRole("button", { name: "Cancel" }));
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("of somebody who may not change the profile has no settings to change", async () => {
    server.on("GET /api/profiles/assistant", () => json({ id: "assistant", name: "Assistant" }));
    await open();
    expect(within(dialog()).queryByLabelText("System prompt")).toBeNull();
    expect(within(dialog()).getByRole("button", { name: "Fork and run" })).toBeInTheDocument();
  });

  it("names the run it came from", async () => {
    server.on("GET /api/runs/r1", () => json({ ...RECORD, thread: null, forked_from: "r0", forked_at: 5 }));
    await openRun();
    expect(screen.getByRole("link", { name: "a run, at No. 5" })).toHaveAttribute("href", "/runs/r0");
    expect(screen.getByRole("link", { name: "All runs" })).toHaveAttribute("href", "/runs");
  });
});

describe("runs that ask for runs", () => {
  it("lead from the run below to the one above", async () => {
    server.on("GET /api/runs/r1", () => json({ ...RECORD, thread: null, parent_run: "r0" }));
    await openRun();
    expect(screen.getByText("Asked by")).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "another run" })).toHaveAttribute("href", "/runs/r0");
  });

  it("lead from the request to the run that was asked for", async () => {
    journal = journal.map((one) => ({ ...one, data: { ...one.data, child_run: "r2" } }));
    await openRun();
    fireEvent.click(row(/begin/));
    expect(within(pane("Inspector")).getByRole("link", { name: "Open the run it asked for" })).toHaveAttribute(
      "href",
      "/runs/r2",
    );
  });
});

describe("a replay", () => {
  const replay = async () => {
    await openRun();
    fireEvent.click(screen.getByRole("button", { name: "Replay" }));
    await settle();
  };

  it("says that everything would be decided the same", async () => {
    server.on("POST /api/runs/r1/replay", () => json({ entries: 10, executions: 2, divergence: null }));
    await replay();
    expect(screen.getByText(/all 10 entries would be decided the same/)).toBeInTheDocument();
  });

  it("names the first difference", async () => {
    const divergence = { position: 6, step: "answer", expected: "answer due with No. 4", found: "gate due with No. 4" };
    server.on("POST /api/runs/r1/replay", () => json({ entries: 5, executions: 1, divergence }));
    await replay();
    expect(screen.getByRole("alert")).toHaveTextContent(
      "Replayed, it differs at No. 6. Expected: answer due with No. 4. Found: gate due with No. 4.",
    );
  });

  it("that cannot be says why", async () => {
    server.on("POST /api/runs/r1/replay", () => problem(409, "blueprint_not_found", "It is not served here."));
    await replay();
    expect(screen.getByRole("alert")).toHaveTextContent("The run could not be replayed. It is not served here.");
  });
});

describe("the prompt as it was sent", () => {
  const called = (hasPrompt: boolean) => {
    journal = journal.map((one) =>
      one.type === "model_called" ? { ...one, data: { ...one.data, task: "gate", has_prompt: hasPrompt } } : one,
    );
  };
  const prompt = { position: 7, model: "demo", purpose: "text", task: "gate", is_masked: false };
  const messages = [
    { kind: "request", parts: [{ part_kind: "user-prompt", content: "Which label?" }] },
    { kind: "response", parts: [{ part_kind: "text", content: "normal" }] },
  ];

  it("is shown for the chosen step, with what came back", async () => {
    called(true);
    server.on("GET /api/runs/r1/prompts/7", () => json({ ...prompt, messages }));
    await openRun();
    tab("Prompt as sent");
    fireEvent.click(step(/^gate/));
    await settle();
    const call = within(pane("Inspector")).getByRole("region", { name: "Call of demo" });
    expect(call).toHaveTextContent(/demo gate.*Person.*Which label\?.*Model.*normal/);
    fireEvent.click(step(/^begin/));
    await settle();
    expect(pane("Inspector")).toHaveTextContent("This step called no model.");
  });

  it("says what is not shown, and why", async () => {
    called(true);
    server.on("GET /api/runs/r1/prompts/7", () => json({ ...prompt, is_masked: true, messages: [] }));
    await openRun();
    fireEvent.click(step(/^gate/));
    tab("Prompt as sent");
    await settle();
    expect(pane("Inspector")).toHaveTextContent("Who may configure this agent sees what was sent here.");
  });

  it("of a run of old was not kept", async () => {
    called(false);
    await openRun();
    fireEvent.click(step(/^gate/));
    tab("Prompt as sent");
    expect(pane("Inspector")).toHaveTextContent("The version that recorded this run did not keep what was sent.");
  });

  it("that cannot be read says so", async () => {
    called(true);
    server.on("GET /api/runs/r1/prompts/7", () => problem(404, "no_prompt_here", "There is none."));
    await openRun();
    fireEvent.click(step(/^gate/));
    tab("Prompt as sent");
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("The prompt could not be read. There is none.");
  });
});

describe("a run as a test", () => {
  const copy = async () => {
    await openRun();
    fireEvent.click(screen.getByRole("button", { name: "Copy as test" }));
    await settle();
  };

  it("is put on the clipboard", async () => {
    const writeText = vi.fn(() => Promise.resolve());
    Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
    server.on("GET /api/runs/r1/test", () => json({ name: "test_run.py", source: "async def test_it(): ..." }));
    await copy();
    expect(writeText).toHaveBeenCalledWith("async def test_it(): ...");
    expect(screen.getByRole("button", { name: "Test copied" })).toBeInTheDocument();
    Reflect.deleteProperty(navigator, "clipboard");
  });

  it("that cannot be says why", async () => {
    server.on("GET /api/runs/r1/test", () => problem(422, "no_test_of_run", "It was stopped by hand."));
    await copy();
    expect(screen.getByRole("alert")).toHaveTextContent("The run could not be made a test. It was stopped by hand.");
  });
});

describe("the time of a run", () => {
  const near = () => Number(within(pane("Timeline")).getByRole("table").style.getPropertyValue("--zoom"));
  const press = (name: string) => fireEvent.click(within(pane("Timeline")).getByRole("button", { name }));

  it("is looked at closer and from further away by buttons and keys, and as a whole again", async () => {
    await openRun();
    expect(near()).toBe(1);
    expect(within(pane("Timeline")).getByRole("button", { name: "Less detail" })).toHaveAttribute("aria-disabled", "true");
    press("More detail");
    press("More detail");
    expect(near()).toBeCloseTo(2.25);
    press("Less detail");
    expect(near()).toBeCloseTo(1.5);
    fireEvent.keyDown(row(/begin/), { key: "+" });
    expect(near()).toBeCloseTo(2.25);
    fireEvent.keyDown(row(/begin/), { key: "-" });
    fireEvent.keyDown(row(/begin/), { key: "-" });
    fireEvent.keyDown(row(/begin/), { key: "-" });
    expect(near()).toBe(1);
    press("More detail");
    press("Whole run");
    expect(near()).toBe(1);
  });

  it("is looked at closer with the wheel and Ctrl, and only then", async () => {
    await openRun();
    const table = within(pane("Timeline")).getByRole("table");
    fireEvent.wheel(table, { deltaY: -100 });
    expect(near()).toBe(1);
    fireEvent.wheel(table, { deltaY: -200, ctrlKey: true });
    expect(near()).toBeCloseTo(2.25);
    fireEvent.wheel(table, { deltaY: 1e6, ctrlKey: true });
    expect(near()).toBe(1);
  });
});

describe("the chat in place of the graph", () => {
  const look = (name: string, at: string) => fireEvent.click(within(pane(at)).getByRole("radio", { name }));

  it("shows what the person saw, and the graph again", async () => {
    const prompt = { kind: "request", parts: [{ part_kind: "user-prompt", content: "What does it cost?" }] };
    const answer = { kind: "response", parts: [{ part_kind: "text", content: "It costs 10." }] };
    journal = journal.map((one) => {
      if (one.type === "UserMessageEvent") return { ...one, data: { messages: [prompt] } };
      return one.type === "LLMStopEvent" ? { ...one, data: { answer: { response: answer } } } : one;
    });
    await openRun();
    look("Chat", "Graph");
    await settle();
    expect(pane("Chat")).toHaveTextContent(/What does it cost\?.*It costs 10\./);
    fireEvent.change(screen.getByRole("slider", { name: /Position/ }), { target: { value: "5" } });
    expect(pane("Chat")).toHaveTextContent("What does it cost?");
    expect(pane("Chat")).not.toHaveTextContent("It costs 10.");
    look("Graph", "Chat");
    expect(pane("Graph")).toBeInTheDocument();
  });

  it("of a run without a chat says what it began with", async () => {
    await openRun();
    look("Chat", "Graph");
    expect(pane("Chat")).toHaveTextContent(/This run belongs to no chat\. It began with:.*locale/);
  });
});

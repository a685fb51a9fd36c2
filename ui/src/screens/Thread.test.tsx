import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openApp, settle } from "../testing/app";
import { framesOf, journalOf } from "../testing/envelopes";
import { FakeServer, json, problem } from "../testing/server";

let server: FakeServer;

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-05T10:00:00Z") });
  server = new FakeServer();
  server.thread("t1");
  server.thread("t2");
});

const box = () => screen.getByRole("textbox", { name: "Message" });
const messages = () => screen.getByRole("log", { name: "Messages" });

function type(text: string) {
  fireEvent.change(box(), { target: { value: text } });
}

function enter() {
  fireEvent.keyDown(box(), { key: "Enter", keyCode: 13 });
}

/** The server takes a message: it posts it and starts a run. */
function takeMessages(thread: string, run: string) {
  const path = `/api/threads/${thread}/messages`;
  server.on(`POST ${path}`, ({ body }) => {
    const { message_id, content } = body as { message_id: string; content: string };
    const before = server.maker.envelopes.length;
    server.maker.ask(message_id, null, run, content, thread);
    for (const envelope of server.maker.envelopes.slice(before)) server.tell(envelope);
    return json({ run_id: run, message_id, seq: before + 2 }, 202);
  });
}

function follow(link: string) {
  fireEvent.click(screen.getByRole("link", { name: new RegExp(link) }));
}

describe("UI-05 changing the conversation while text arrives", () => {
  it("shows nothing of one in the other, and all of it on coming back", async () => {
    const numbers = Array.from({ length: 50 }, (_, at) => `${at + 1} `);
    const frames = framesOf("r1", numbers);
    const send = (from: number, to: number) => frames.slice(from, to).forEach((frame) => server.current.live(frame));
    server.maker.ask("m1", null, "r1", "count", "t1");
    await openApp("/threads/t1");
    send(0, 11);
    await settle();
    expect(messages()).toHaveTextContent("8 9 10");
    expect(messages()).not.toHaveTextContent("11");

    follow("Title of t2");
    await settle();
    send(11, 31);
    await settle();
    expect(messages()).not.toHaveTextContent("10");
    expect(within(messages()).queryByRole("button")).toBeNull();
    expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();

    follow("Title of t1");
    await settle(0);
    expect(messages()).toHaveTextContent("28 29 30");
    send(31, 51);
    await settle();
    const streamed = screen.getByRole("article", { name: "Answer" }).querySelector(".prose")?.textContent;
    server.maker.answer("r1", "m1", numbers.join("").trim(), {}, "t1");
    server.maker.envelopes.slice(-2).forEach((envelope) => server.tell(envelope));
    await settle();
    expect(screen.getByRole("article", { name: "Answer" }).querySelector(".prose")?.textContent).toBe(streamed);
    expect(streamed).toBe(numbers.join("").trim());
  });
});

describe("UI-09 a server restart between two messages", () => {
  it("leaves one conversation, in which the answer appears by itself, and one connection", async () => {
    takeMessages("t1", "r1");
    await openApp("/threads/t1");
    type("m1");
    enter();
    await settle();
    framesOf("r1", ["half an "]).forEach((frame) => server.current.live(frame));
    await settle();
    expect(messages()).toHaveTextContent("half an");

    server.down = true;
    server.streams.forEach((stream) => stream.break());
    await settle(2500);
    expect(screen.getByText(/Connection lost/)).toBeInTheDocument();
    const [question] = server.maker.envelopes.filter((one) => one.data.content === "m1");
    server.maker.answer("r1", question?.data.message_id as string, "half an answer, and the rest", {}, "t1");
    server.down = false;
    await settle(10_000);
    expect(messages()).toHaveTextContent("half an answer, and the rest");
    expect(screen.queryByText(/Connection lost/)).toBeNull();

    takeMessages("t1", "r2");
    type("m2");
    enter();
    await settle();
    expect(messages()).toHaveTextContent("m2");
    expect(server.count("POST", "/api/threads")).toBe(0);
    expect(server.streams.filter((stream) => stream.open)).toHaveLength(1);
  });
});

describe("UI-11 sending fails", () => {
  const failures: [string, () => Response | Promise<Response>, RegExp][] = [
    ["offline", () => Promise.reject(new TypeError("Failed to fetch")), /did not answer/],
    ["500", () => problem(500, "internal", "The database is locked."), /database is locked.*Try it later/],
    ["413", () => problem(413, "message_too_large", ""), /too long: at most 1 MB/],
  ];

  it.each(failures)("as %s: the text stays, the error is seen, a retry sends once", async (_, answer, words) => {
    server.on("POST /api/threads/t1/messages", answer);
    await openApp("/threads/t1");
    type("important 1");
    enter();
    await settle();
    expect(box()).toHaveValue("important 1");
    expect(screen.getByRole("alert")).toHaveTextContent(words);
    expect(messages()).not.toHaveTextContent("important 1");

    takeMessages("t1", "r1");
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await settle();
    expect(box()).toHaveValue("");
    expect(screen.queryByRole("alert")).toBeNull();
    expect(within(messages()).getAllByText("important 1")).toHaveLength(1);
    const posts = server.calls.filter((call) => call.path === "/api/threads/t1/messages");
    const ids = posts.map((call) => (call.body as { message_id: string }).message_id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  it("for being too long is told before it is sent", async () => {
    await openApp("/threads/t1");
    type("x".repeat(1_048_577));
    enter();
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent(/too long/);
    expect(server.count("POST", "/api/threads/t1/messages")).toBe(0);
  });

  it("keeps the draft of each thread through a reload", async () => {
    const { unmount } = await openApp("/threads/t1");
    type("for one");
    follow("Title of t2");
    await settle();
    expect(box()).toHaveValue("");
    unmount();
    await openApp("/threads/t1");
    expect(box()).toHaveValue("for one");
  });
});

describe("while a run works", () => {
  beforeEach(() => {
    server.maker.ask("m1", null, "r1", "first", "t1");
  });

  it("what is typed is added after it, or now when the person says so", async () => {
    takeMessages("t1", "r2");
    await openApp("/threads/t1");
    type("second");
    expect(screen.getByText("Will be added next")).toBeInTheDocument();
    expect(screen.getByRole("radio", { name: "after" })).toHaveAttribute("aria-checked", "true");
    fireEvent.click(screen.getByRole("radio", { name: "instead" }));
    fireEvent.click(screen.getByRole("button", { name: "Add" }));
    await settle();
    const post = server.calls.find((call) => call.path === "/api/threads/t1/messages");
    expect(post?.body).toMatchObject({ content: "second", when: "instead" });
    expect(post?.headers.get("X-CSRF-Token")).toBe("token-1");
  });

  it("Stop asks the server, and the kept text is marked", async () => {
    server.on("POST /api/runs/r1/stop", () => json({}, 202));
    await openApp("/threads/t1");
    fireEvent.click(screen.getByRole("button", { name: "Stop" }));
    await settle();
    expect(server.count("POST", "/api/runs/r1/stop")).toBe(1);
    server.maker.answer("r1", "m1", "half", { incomplete: true, status: "stopped" }, "t1");
    server.maker.envelopes.slice(-2).forEach((envelope) => server.tell(envelope));
    await settle();
    expect(messages()).toHaveTextContent("Stopped. What was written is kept.");
    expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
  });

  it("the activity line unfolds to the steps, with what they took and gave", async () => {
    server.on("GET /api/runs/r1/timeline", () => json({ items: journalOf("r1"), next: null, ended: true }));
    await openApp("/threads/t1");
    fireEvent.click(screen.getByRole("button", { name: /·/ }));
    await settle();
    const steps = screen.getByRole("list", { name: "Steps" });
    fireEvent.click(within(steps).getByRole("button", { name: /Looking/ }));
    expect(within(steps).getByText("ContextualizeRequest")).toBeInTheDocument();
    fireEvent.click(within(steps).getByRole("tab", { name: "Result" }));
    expect(within(steps).getByText("LLMStopEvent")).toBeInTheDocument();
  });
});

describe("an answer", () => {
  const error = { code: "model_broke_off", message: "The model broke off.", what_to_do: "Ask again." };

  it("that broke off says why and what was kept, and can be retried", async () => {
    server.maker.ask("m1", null, "r1", "first", "t1");
    server.maker.answer("r1", "m1", "half of", { incomplete: true, status: "failed", error }, "t1");
    let asked: unknown;
    server.on("POST /api/threads/t1/runs", ({ body }) => {
      asked = body;
      return json({}, 202);
    });
    await openApp("/threads/t1");
    const alert = screen.getByRole("alert");
    expect(alert).toHaveTextContent("The answer broke off. The connection to the model broke. What was written is kept.");
    fireEvent.click(within(alert).getByRole("button", { name: "Retry from here" }));
    await settle();
    expect(asked).toMatchObject({ message_id: "m1" });
  });

  it("that failed for a cause that is not known here tells it in the server's words", async () => {
    const strange = { code: "from_tomorrow", message: "The stars stand badly.", what_to_do: "Wait." };
    server.maker.ask("m1", null, "r1", "hello", "t1");
    server.maker.answer("r1", "m1", "", { status: "failed", incomplete: true, error: strange }, "t1");
    await openApp("/threads/t1");
    expect(screen.getByRole("alert")).toHaveTextContent("The answer failed. The stars stand badly. Wait.");
  });

  it("offers follow-up questions, which are sent as they are", async () => {
    server.maker.ask("m1", null, "r1", "first", "t1");
    server.maker.answer("r1", "m1", "done", { follow_ups: ["And then?"] }, "t1");
    takeMessages("t1", "r2");
    await openApp("/threads/t1");
    type("my draft");
    fireEvent.click(screen.getByRole("button", { name: "And then?" }));
    await settle();
    expect(within(messages()).getByText("And then?")).toBeInTheDocument();
    expect(box()).toHaveValue("my draft");
  });

  it("leads to its run and tells what it used", async () => {
    server.maker.ask("m1", null, "r1", "first", "t1");
    server.maker.answer("r1", "m1", "done", {}, "t1");
    await openApp("/threads/t1");
    expect(screen.getByRole("link", { name: "Open run" })).toHaveAttribute("href", "/runs/r1");
    expect(messages()).toHaveTextContent("15 tokens · $0.001");
    expect(messages()).toHaveTextContent("Worked 2.0 s · 3 steps");
  });
});

describe("UI-03 HTML in a message or a title", () => {
  it("is text", async () => {
    const hostile = "<img src=x onerror=alert(1)>";
    server.thread("t3", hostile);
    server.maker.ask("m1", null, "r1", hostile, "t3");
    const { container } = await openApp("/threads/t3");
    expect(container.querySelector("img")).toBeNull();
    expect(screen.getByRole("heading", { name: hostile })).toBeInTheDocument();
    expect(messages()).toHaveTextContent(hostile);
  });
});

describe("the title", () => {
  it("is changed in its place, and comes back by the log", async () => {
    let title: unknown;
    server.on("PATCH /api/threads/t1", ({ body }) => {
      title = (body as { title: string }).title;
      server.tell(server.maker.add("thread_renamed", { title, source: "person" }, "t1"));
      return json({});
    });
    await openApp("/threads/t1");
    fireEvent.click(screen.getByRole("button", { name: "Rename" }));
    const field = screen.getByRole("textbox", { name: "Title" });
    expect(field).toHaveValue("Title of t1");
    fireEvent.change(field, { target: { value: "A better one" } });
    fireEvent.submit(field);
    await settle();
    expect(title).toBe("A better one");
    expect(screen.getByRole("heading", { level: 1, name: "A better one" })).toBeInTheDocument();
    expect(screen.getByRole("link", { name: /A better one/ })).toBeInTheDocument();
  });

  it("stays as it was with Escape", async () => {
    await openApp("/threads/t1");
    fireEvent.click(screen.getByRole("button", { name: "Rename" }));
    const field = screen.getByRole("textbox", { name: "Title" });
    fireEvent.change(field, { target: { value: "Never mind" } });
    fireEvent.keyDown(field, { key: "Escape" });
    await settle();
    expect(server.count("PATCH", "/api/threads/t1")).toBe(0);
    expect(screen.getByRole("heading", { level: 1, name: "Title of t1" })).toBeInTheDocument();
  });

  it("stays as typed when it could not be saved", async () => {
    server.on("PATCH /api/threads/t1", () => problem(500, "internal", "No."));
    await openApp("/threads/t1");
    fireEvent.click(screen.getByRole("button", { name: "Rename" }));
    const field = screen.getByRole("textbox", { name: "Title" });
    fireEvent.change(field, { target: { value: "A better one" } });
    fireEvent.submit(field);
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("The title was not saved.");
    expect(screen.getByRole("textbox", { name: "Title" })).toHaveValue("A better one");
  });
});

describe("UI-15 finished messages", () => {
  it("are drawn once while a later answer streams", async () => {
    for (let at = 1; at <= 5; at += 1) {
      server.maker.ask(`m${at}`, at === 1 ? null : `r${at - 1}`, `r${at}`, `question ${at}`, "t1");
      if (at < 5) server.maker.answer(`r${at}`, `m${at}`, `answer ${at}`, {}, "t1");
    }
    await openApp("/threads/t1");
    const finished = [...messages().querySelectorAll(".turn")].slice(0, 4);
    let changes = 0;
    const observer = new MutationObserver((records) => (changes += records.length));
    finished.forEach((turn) => observer.observe(turn, { subtree: true, childList: true, characterData: true }));
    for (const frame of framesOf("r5", Array.from({ length: 40 }, (_, at) => `word${at} `))) {
      server.current.live(frame);
      await settle(20);
    }
    expect(messages()).toHaveTextContent("word39");
    expect(changes).toBe(0);
    observer.disconnect();
  });
});

describe("a thread", () => {
  it("that does not exist says so and leads on", async () => {
    await openApp("/threads/unknown");
    expect(screen.getByText(/does not exist/)).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "Begin a new chat" })).toBeInTheDocument();
  });

  it("that could not be read can be read again", async () => {
    server.on("GET /api/threads/t1", () => problem(500, "internal", "No."));
    await openApp("/threads/t1");
    server.thread("t1");
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await settle();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("draws its newest part, and earlier turns when they are asked for", async () => {
    for (let at = 1; at <= 70; at += 1) {
      server.maker.ask(`m${at}`, at === 1 ? null : `r${at - 1}`, `r${at}`, `question ${at}.`, "t1");
      server.maker.answer(`r${at}`, `m${at}`, `answer ${at}.`, {}, "t1");
    }
    await openApp("/threads/t1");
    expect(messages()).toHaveTextContent("question 70.");
    expect(messages()).not.toHaveTextContent("question 1.");
    fireEvent.click(screen.getByRole("button", { name: "Show earlier messages" }));
    await settle();
    expect(messages()).toHaveTextContent("question 1.");
    expect(screen.queryByRole("button", { name: "Show earlier messages" })).toBeNull();
  });

  it("reads its earlier part from the server, page by page", async () => {
    server.maker.ask("m1", null, "r1", "the oldest", "t1");
    server.maker.answer("r1", "m1", "first answer", {}, "t1");
    server.maker.ask("m2", "r1", "r2", "the newest", "t1");
    const all = server.maker.envelopes.filter((one) => one.thread === "t1");
    const newest = all.slice(-3);
    server.on("GET /api/workspaces/w1/log", ({ url }) => {
      const before = url.searchParams.get("before_seq");
      const items = before === null ? newest : all.filter((one) => one.position < Number(before));
      return json({ items, head_seq: server.maker.envelopes.length });
    });
    await openApp("/threads/t1");
    expect(messages()).not.toHaveTextContent("the oldest");
    fireEvent.click(screen.getByRole("button", { name: "Show earlier messages" }));
    await settle();
    expect(messages()).toHaveTextContent(/the oldest.*first answer.*the newest/);
    expect(screen.queryByRole("button", { name: "Show earlier messages" })).toBeNull();
  });

  it("is whole although facts of the whole workspace lie before and between its own", async () => {
    server.maker.ask("m1", null, "r1", "the only question", "t1");
    const own = server.maker.envelopes.filter((one) => one.thread === "t1");
    const foreign = { ...own[0], id: "w", type: "workspace_created", thread: null, position: 0, data: {} };
    server.on("GET /api/workspaces/w1/log", () => json({ items: [foreign, ...own], head_seq: own.length }));
    await openApp("/threads/t1");
    expect(messages()).toHaveTextContent("the only question");
    expect(screen.queryByRole("button", { name: "Show earlier messages" })).toBeNull();
  });

  it("has its newest title in the list too, when it got it between two readings", async () => {
    server.thread("t3", null);
    server.maker.add("thread_renamed", { title: "A fine title", source: "suggested" }, "t3");
    await openApp("/threads/t3");
    expect(screen.getByRole("heading", { level: 1, name: "A fine title" })).toBeInTheDocument();
    expect(screen.getByRole("link", { name: /A fine title/ })).toBeInTheDocument();
  });

  it("reads its state anew when its position is gone", async () => {
    await openApp("/threads/t1");
    server.maker.ask("m1", null, "r1", "written meanwhile", "t1");
    server.current.text("event: reset\ndata: {}\n\n");
    await settle();
    expect(messages()).toHaveTextContent("written meanwhile");
    expect(server.current.url.searchParams.get("after")).toBe(String(server.maker.envelopes.length));
  });
});

import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openApp, settle } from "../testing/app";
import { FakeServer, json, problem, PROFILE } from "../testing/server";

let server: FakeServer;

beforeEach(() => {
  vi.useFakeTimers({ now: new Date(2026, 0, 5, 9, 0) });
  server = new FakeServer();
  const travel = { ...PROFILE, id: "travel", name: "Travel desk", starters: ["Plan a trip"] };
  server.on("GET /api/profiles", () => json({ items: [PROFILE, travel], next: null }));
  server.on("POST /api/threads", ({ body }) => {
    const { id } = body as { id: string };
    server.thread(id, null);
    return json(server.threads.get(id), 201);
  });
});

const posts = () => server.calls.filter((call) => call.method === "POST");

/** Any thread takes a message. */
function takeMessages() {
  server.on("POST /api/threads", ({ body }) => {
    const { id } = body as { id: string };
    server.thread(id, null);
    server.on(`POST /api/threads/${id}/messages`, () => json({ run_id: "r1", message_id: "m", seq: 1 }, 202));
    return json(server.threads.get(id), 201);
  });
}

describe("the home screen", () => {
  it("greets by first name and time of day, and says that an AI answers", async () => {
    await openApp("/");
    expect(screen.getByRole("heading", { name: "Good morning, Anna" })).toBeInTheDocument();
    expect(screen.getByText("You are talking to an AI; check important answers.")).toBeInTheDocument();
    expect(screen.getByText(/built-in demo model answers/)).toBeInTheDocument();
  });

  it("offers the first profile, and asks the one that is chosen", async () => {
    takeMessages();
    await openApp("/");
    expect(screen.getByRole("button", { name: /Assistant/ })).toHaveAttribute("aria-pressed", "true");
    fireEvent.click(screen.getByRole("button", { name: /Travel desk/ }));
    fireEvent.click(screen.getByRole("button", { name: "Plan a trip" }));
    await settle();
    expect(posts()[0]).toMatchObject({ path: "/api/threads", body: { profile: "travel", workspace: "w1" } });
    expect(posts()[1]?.body).toMatchObject({ content: "Plan a trip" });
    expect(window.location.pathname).toMatch(/^\/threads\//);
  });

  it("makes one thread when the message fails and is sent again", async () => {
    await openApp("/");
    const box = screen.getByRole("textbox", { name: "Message to Assistant" });
    fireEvent.change(box, { target: { value: "hello" } });
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    await settle();
    expect(box).toHaveValue("hello");
    const [created] = posts();
    const { id } = created?.body as { id: string };
    server.on(`POST /api/threads/${id}/messages`, () => json({ run_id: "r1", message_id: "m", seq: 1 }, 202));
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await settle();
    expect(server.count("POST", "/api/threads")).toBe(1);
    expect(window.location.pathname).toBe(`/threads/${id}`);
  });

  it("sends what was asked before the agents were known, once they are", async () => {
    takeMessages();
    let answer: (response: Response) => void = () => undefined;
    server.on("GET /api/profiles", () => new Promise<Response>((resolve) => (answer = resolve)));
    await openApp("/");
    const box = screen.getByRole("textbox", { name: "Message" });
    fireEvent.change(box, { target: { value: "early" } });
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    await settle();
    expect(posts()).toHaveLength(0);
    expect(screen.getByRole("button", { name: "Sending" })).toBeInTheDocument();
    answer(json({ items: [PROFILE], next: null }));
    await settle();
    expect(posts()[0]).toMatchObject({ path: "/api/threads", body: { profile: "assistant" } });
    expect(posts()[1]?.body).toMatchObject({ content: "early" });
    expect(window.location.pathname).toMatch(/^\/threads\//);
  });

  it("says that the agents could not be read, keeps the question, and reads them again", async () => {
    takeMessages();
    server.on("GET /api/profiles", () => problem(500, "internal", "The disk is full."));
    await openApp("/");
    expect(screen.getByText("The agents could not be read.")).toBeInTheDocument();
    expect(screen.queryByText(/There is no agent you may ask/)).toBeNull();
    const box = screen.getByRole("textbox", { name: "Message" });
    fireEvent.change(box, { target: { value: "kept" } });
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    await settle();
    expect(screen.getByText(/The disk is full/)).toBeInTheDocument();
    expect(box).toHaveValue("kept");
    server.on("GET /api/profiles", () => json({ items: [PROFILE], next: null }));
    const agents = screen.getByText("The agents could not be read.").closest<HTMLElement>("[role=alert]");
    fireEvent.click(within(agents ?? document.body).getByRole("button", { name: "Try again" }));
    await settle();
    expect(screen.getByRole("button", { name: /Assistant/ })).toBeInTheDocument();
  });

  it("says so when there is no agent to ask", async () => {
    server.on("GET /api/profiles", () => json({ items: [], next: null }));
    await openApp("/");
    expect(screen.getByText(/There is no agent you may ask/)).toBeInTheDocument();
  });
});

describe("the thread list", () => {
  const list = () => screen.getByRole("region", { name: "Chats" });

  it("is empty with a word on what will be there, and one button", async () => {
    await openApp("/");
    expect(within(list()).getByText("No chats yet")).toBeInTheDocument();
    expect(within(list()).getByRole("button", { name: "Ask a first question" })).toBeInTheDocument();
  });

  it("shows the state of a thread by word, and changes with the log", async () => {
    server.thread("t1");
    server.maker.ask("m1", null, "r1", "first", "t1");
    await openApp("/threads/t1");
    server.tell(server.maker.add("run_started", { run_id: "r1", message_id: "m1" }, "t1"));
    await settle();
    expect(within(list()).getByRole("link", { name: /Title of t1.*Working/ })).toBeInTheDocument();
    server.maker.answer("r1", "m1", "", { incomplete: true, status: "failed" }, "t1");
    server.maker.envelopes.slice(-2).forEach((envelope) => server.tell(envelope));
    await settle();
    expect(within(list()).getByRole("link", { name: /Title of t1.*Failed/ })).toBeInTheDocument();
  });

  it("loads more when there is more", async () => {
    server.thread("t1");
    server.thread("t2");
    const rows = [...server.threads.values()];
    server.on("GET /api/workspaces/w1/threads", ({ url }) =>
      url.searchParams.get("cursor") === "c2"
        ? json({ items: rows.slice(1), next: null })
        : json({ items: rows.slice(0, 1), next: "c2" }),
    );
    await openApp("/");
    expect(within(list()).getAllByRole("link", { name: /Title/ })).toHaveLength(1);
    fireEvent.click(within(list()).getByRole("button", { name: "Show more" }));
    await settle();
    expect(within(list()).getAllByRole("link", { name: /Title/ })).toHaveLength(2);
    expect(within(list()).queryByRole("button", { name: "Show more" })).toBeNull();
  });

  it("is read again when the reader comes back", async () => {
    await openApp("/");
    server.thread("t1");
    fireEvent(document, new Event("visibilitychange"));
    await settle();
    expect(within(list()).getByRole("link", { name: /Title of t1/ })).toBeInTheDocument();
  });

  it("folds, and is unfolded from the thread", async () => {
    server.thread("t1");
    const { container } = await openApp("/threads/t1");
    fireEvent.click(screen.getByRole("button", { name: "Fold the list" }));
    expect(container.querySelector(".frame")).toHaveClass("folded");
    fireEvent.click(screen.getByRole("button", { name: "Show the list" }));
    expect(container.querySelector(".frame")).not.toHaveClass("folded");
  });

  it("that could not be read says so, and can be read again", async () => {
    server.on("GET /api/workspaces/w1/threads", () => problem(500, "internal", "No."));
    await openApp("/");
    expect(within(list()).getByRole("alert")).toHaveTextContent("The list could not be read.");
    server.thread("t1");
    server.on("GET /api/workspaces/w1/threads", () => json({ items: [...server.threads.values()], next: null }));
    fireEvent.click(within(list()).getByRole("button", { name: "Try again" }));
    await settle();
    expect(within(list()).getByRole("link", { name: /Title of t1/ })).toBeInTheDocument();
  });
});

describe("the account", () => {
  it("changes language and appearance, closes with Escape and gives the focus back", async () => {
    server.on("PATCH /api/session", () => json({}));
    await openApp("/");
    const button = screen.getByRole("button", { name: /Account/ });
    button.focus();
    fireEvent.click(button);
    const sheet = screen.getByRole("dialog", { name: "Account" });
    fireEvent.click(within(sheet).getByRole("radio", { name: "Dark" }));
    expect(document.documentElement.dataset.theme).toBe("dark");
    fireEvent.click(within(sheet).getByRole("radio", { name: "Français" }));
    await vi.dynamicImportSettled();
    await settle();
    expect(screen.getByRole("heading", { name: "Bonjour, Anna" })).toBeInTheDocument();
    expect(server.calls.find((call) => call.method === "PATCH")?.body).toEqual({ locale: "fr" });
    fireEvent.keyDown(document, { key: "Escape" });
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(button).toHaveFocus();
  });
});

import { fireEvent, screen, within } from "@testing-library/react";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PersonRequest } from "../api/types";
import { openApp, settle } from "../testing/app";
import { answer, ask, requestOf } from "../testing/requests";
import { FakeServer, json, problem } from "../testing/server";

let server: FakeServer;

const order = requestOf("q1", {
  kind: "confirmation",
  question: "Order it?",
  subject: "A monitor",
  details: "It comes **soon**.",
  confirm_label: "Order",
  profile: "orders",
  profile_name: "Order desk",
  expires: "2026-01-05T10:05:00Z",
});
const choice = requestOf("q2", {
  question: "Which colour?",
  choices: [
    { value: "red", label: "Red" },
    { value: "blue", label: "Blue" },
  ],
  only_choices: true,
  default: "blue",
});
const words = requestOf("q3", { question: "What shall it say?", asked: "2026-01-05T09:30:00Z" });

// What is fetched when it is wanted is there: no test waits for the module loader, whose time is the machine's.
beforeAll(async () => {
  await Promise.all([import("./Inbox"), import("../requests/RequestCard")]);
});

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-05T10:00:00Z") });
  server = new FakeServer();
  server.thread("t1");
});

const cards = () => screen.queryAllByRole("article");
const card = (question: RegExp) => screen.getByRole("article", { name: question });
const button = (name: string | RegExp, within_ = screen.getByRole("main")) =>
  within(within_).getByRole("button", { name });
const title = () => screen.getByRole("heading", { level: 1 });

async function openInbox(...items: PersonRequest[]) {
  server.inbox = items;
  await openApp("/inbox");
  await settle();
}

function accept(id: string): { answers: unknown[]; keys: (string | null)[] } {
  const taken: { answers: unknown[]; keys: (string | null)[] } = { answers: [], keys: [] };
  server.on(`POST /api/requests/${id}/answer`, ({ body, init }) => {
    taken.answers.push((body as { answer: unknown }).answer);
    taken.keys.push(new Headers(init.headers).get("Idempotency-Key"));
    return json({ request_id: id, run_id: "r1", seq: 9 }, 202);
  });
  return taken;
}

function tellNewest(count: number) {
  server.maker.envelopes.slice(-count).forEach((envelope) => server.tell(envelope));
}

describe("the inbox", () => {
  it("says what to do next when nothing waits", async () => {
    await openInbox();
    expect(title()).toHaveTextContent("Nothing waits for you");
    expect(screen.getByRole("link", { name: "Ask an agent" })).toHaveAttribute("href", "/");
    expect(screen.getByRole("link", { name: "Inbox" })).toBeInTheDocument();
  });

  it("lists what waits, what expires first on top and open, and counts it in the rail", async () => {
    await openInbox(choice, words, order);
    expect(title()).toHaveTextContent("3 wait for you");
    expect(screen.getByRole("link", { name: "Inbox 3 wait for you" })).toBeInTheDocument();
    expect(cards()).toHaveLength(1);
    expect(card(/Order desk asks: Order it\?/)).toHaveTextContent("Needs you · expires in 5 minutes");
    expect(screen.getByText("soon").tagName).toBe("STRONG");
    await settle(61_000);
    expect(card(/Order it/)).toHaveTextContent("expires in 4 minutes");
    await settle(240_000);
    expect(card(/Order it/)).toHaveTextContent("the time is up");
  });

  it("opens another where it stands, and keeps it open when something more urgent comes", async () => {
    await openInbox(choice, words);
    fireEvent.click(button(/What shall it say/));
    await settle();
    expect(cards()).toHaveLength(1);
    expect(card(/What shall it say/)).toHaveFocus();
    ask(server.maker, { ...order, thread: "t1" });
    tellNewest(2);
    await settle();
    expect(title()).toHaveTextContent("3 wait for you");
    expect(card(/What shall it say/)).toBeInTheDocument();
  });

  it("is filtered by agent, in the address", async () => {
    await openInbox(choice, order);
    fireEvent.click(within(screen.getByRole("region", { name: "Filter" })).getByRole("button", { name: /Order desk/ }));
    await settle();
    expect(title()).toHaveTextContent("1 waits for you");
    expect(window.location.search).toBe("?profile=orders");
    server.inbox = [choice];
    answer(server.maker, order, { confirmed: true, reason: "" });
    tellNewest(2);
    await settle();
    expect(screen.getByText("Nothing that fits waits for you")).toBeInTheDocument();
    fireEvent.click(button("Show all"));
    await settle();
    expect(title()).toHaveTextContent("1 waits for you");
  });

  it("is filtered by kind too, failed schedules among them, in the address", async () => {
    server.failures = [
      { profile: "digest", profile_name: "Digest", run: "r9", time: "2026-01-05T06:00:00Z", failures: 1, error: null },
    ];
    await openInbox(choice, order, words);
    const filter = within(screen.getByRole("region", { name: "Filter" }));
    expect(filter.queryByRole("button", { name: /In the chat/ })).toBeNull();
    fireEvent.click(filter.getByRole("button", { name: "Confirmations 1" }));
    await settle();
    expect(window.location.search).toBe("?kind=confirmation");
    expect(title()).toHaveTextContent("1 waits for you");
    expect(card(/Order it/)).toBeInTheDocument();
    fireEvent.click(filter.getByRole("button", { name: "Failed schedules 1" }));
    await settle();
    expect(screen.queryAllByRole("article")).toHaveLength(0);
    expect(screen.getByRole("region", { name: "Failed schedules" })).toHaveTextContent("Digest failed");
    fireEvent.click(filter.getByRole("button", { name: /Order desk/ }));
    await settle();
    expect(window.location.search).toBe("?kind=schedule&profile=orders");
    expect(screen.getByText("Nothing that fits waits for you")).toBeInTheDocument();
  });

  it("says so when it cannot be read, and reads it again", async () => {
    server.on("GET /api/inbox", () => problem(500, "internal", "No."));
    await openApp("/inbox");
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("What waits for you could not be read.");
    server.on("GET /api/inbox", () => json({ items: [words], next: null }));
    fireEvent.click(button("Try again"));
    await settle();
    expect(title()).toHaveTextContent("1 waits for you");
  });

  it("reads all its pages, and reads again what comes by no stream", async () => {
    server.on("GET /api/inbox", ({ url }) =>
      url.searchParams.get("cursor") === "more"
        ? json({ items: [words], next: null })
        : json({ items: [choice], next: "more" }),
    );
    await openApp("/inbox");
    await settle();
    expect(title()).toHaveTextContent("2 wait for you");
    server.on("GET /api/inbox", () => json({ items: [choice, words, order], next: null }));
    await settle(30_000);
    expect(title()).toHaveTextContent("3 wait for you");
  });
});

describe("what was answered", () => {
  const told = { status: "answered" as const, may_answer: false, closed: "2026-01-05T09:40:00Z" };
  const ben = { kind: "user" as const, id: "b1", name: "Ben" };
  const byBen = { ...choice, ...told, answer: { text: "blue" }, answered_by: ben };
  const outside = { ...order, ...told, thread: null, answer: { confirmed: true }, answered_by: ben };

  it("is listed with who, when and where, page by page", async () => {
    server.on("GET /api/inbox/answered", ({ url }) =>
      url.searchParams.get("cursor") === "more"
        ? json({ items: [outside], next: null })
        : json({ items: [byBen], next: "more" }),
    );
    await openInbox(words);
    fireEvent.click(within(screen.getByRole("region", { name: "Filter" })).getByRole("button", { name: "Answered" }));
    await settle();
    expect(window.location.search).toBe("?view=answered");
    const list = within(screen.getByRole("region", { name: "Answered" }));
    expect(list.getByText(/Ben answered “Blue”/)).toBeInTheDocument();
    expect(list.getByRole("link", { name: "Open the chat of “Which colour?”" })).toHaveAttribute("href", "/threads/t1");
    expect(list.getByRole("link", { name: "Open the run of “Which colour?”" })).toHaveAttribute("href", "/runs/r1");
    fireEvent.click(list.getByRole("button", { name: "Show more" }));
    await settle();
    expect(list.getByText(/Ben confirmed/)).toBeInTheDocument();
    expect(list.queryByRole("link", { name: "Open the chat of “Order it?”" })).toBeNull();
    expect(list.queryByRole("button", { name: "Show more" })).toBeNull();
  });

  it("is filtered as what waits is, and says what to do where nothing fits", async () => {
    const asked: string[] = [];
    server.on("GET /api/inbox/answered", ({ url }) => {
      asked.push(url.search);
      return json({ items: [], next: null });
    });
    await openApp("/inbox?view=answered&kind=confirmation&profile=orders");
    await settle();
    expect([...new Set(asked)]).toEqual(["?profile=orders&kind=confirmation"]);
    expect(screen.getByText("Nothing that fits was answered")).toBeInTheDocument();
    fireEvent.click(button("Show all"));
    await settle();
    expect(screen.getByText("Nothing answered yet")).toBeInTheDocument();
    fireEvent.click(button("Show what waits"));
    await settle();
    expect(title()).toHaveTextContent("Nothing waits for you");
  });

  it("is read again after an answer comes, and after it could not be read", async () => {
    server.on("GET /api/inbox/answered", () => problem(500, "internal", "No."));
    await openApp("/inbox?view=answered");
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("What was answered could not be read.");
    server.on("GET /api/inbox/answered", () => json({ items: [], next: null }));
    fireEvent.click(button("Try again"));
    await settle();
    expect(screen.queryByRole("alert")).toBeNull();
    ask(server.maker, choice);
    tellNewest(2);
    await settle();
    server.on("GET /api/inbox/answered", () => json({ items: [byBen], next: null }));
    answer(server.maker, choice, { text: "blue" });
    tellNewest(2);
    await settle();
    expect(screen.getByText(/Ben answered “Blue”/)).toBeInTheDocument();
  });
});

describe("answering", () => {
  it("by a button sends its value, folds to one line, and goes on with the next", async () => {
    const { answers } = accept("q2");
    await openInbox(choice, words);
    const red = button("Red");
    red.focus();
    fireEvent.click(red);
    await settle();
    expect(answers).toEqual([{ text: "red" }]);
    const done = screen.getByRole("region", { name: "Done just now" });
    expect(done).toHaveTextContent("You answered “Red”");
    expect(title()).toHaveTextContent("1 waits for you");
    expect(card(/What shall it say/)).toHaveFocus();
  });

  it("in words by Enter; what is blank is not sent", async () => {
    const { answers } = accept("q3");
    await openInbox(words);
    const box = screen.getByRole("textbox", { name: "Your answer" });
    expect(button("Send answer")).toHaveAttribute("aria-disabled", "true");
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    fireEvent.change(box, { target: { value: "Well done " } });
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13, shiftKey: true });
    expect(answers).toEqual([]);
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    await settle();
    expect(answers).toEqual([{ text: "Well done" }]);
  });

  it("begins with the default, which a blank answer means", async () => {
    const { answers } = accept("q3");
    await openInbox({ ...words, default: "Hello" });
    const box = screen.getByRole("textbox", { name: "Your answer" });
    expect(box).toHaveValue("Hello");
    fireEvent.change(box, { target: { value: "" } });
    expect(box).toHaveAccessibleDescription(/Left blank, it means “Hello”/);
    fireEvent.click(button("Send answer"));
    await settle();
    expect(answers).toEqual([{ text: "" }]);
    expect(screen.getByText(/You answered “Hello”/)).toBeInTheDocument();
  });

  it("among many choices is by radios, or in own words where that is allowed", async () => {
    const { answers } = accept("q2");
    const many = Array.from({ length: 7 }, (_, at) => ({ value: `v${at}`, label: `Choice ${at}` }));
    await openInbox({ ...choice, choices: many, default: "v2", only_choices: false });
    expect(screen.getByRole("radio", { name: "Choice 2" })).toBeChecked();
    fireEvent.click(screen.getByRole("radio", { name: "Write an answer" }));
    expect(button("Send answer")).toHaveAttribute("aria-disabled", "true");
    fireEvent.change(screen.getByRole("textbox", { name: "Your answer" }), { target: { value: "mine" } });
    fireEvent.click(button("Send answer"));
    await settle();
    expect(answers).toEqual([{ text: "mine" }]);
  });

  it("by yes or no has the profile's labels, a reason, and keys while the card has the focus", async () => {
    const { answers } = accept("q1");
    await openInbox(order);
    expect(button(/^Order/)).toHaveClass("primary");
    fireEvent.click(button("Say why"));
    const reason = screen.getByRole("textbox", { name: /Reason/ });
    fireEvent.change(reason, { target: { value: "too dear" } });
    fireEvent.keyDown(reason, { key: "d" });
    expect(answers).toEqual([]);
    fireEvent.keyDown(card(/Order it/), { key: "d" });
    await settle();
    expect(answers).toEqual([{ confirmed: false, reason: "too dear" }]);
    expect(screen.getByText(/You declined: “too dear”/)).toBeInTheDocument();
  });

  it("offers first what is the default", async () => {
    await openInbox({ ...order, default: false });
    expect(button(/^Decline/)).toHaveClass("primary");
  });

  it("that did not get through keeps what was typed, and is sent again as the same", async () => {
    await openInbox(words);
    server.down = true;
    const box = screen.getByRole("textbox", { name: "Your answer" });
    fireEvent.change(box, { target: { value: "Well done" } });
    fireEvent.click(button("Send answer"));
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent(
      "Not sent. The server did not answer. Your answer is still here. Try again",
    );
    expect(box).toHaveValue("Well done");
    server.down = false;
    const { answers, keys } = accept("q3");
    const first = server.calls.find((call) => call.method === "POST")?.headers.get("Idempotency-Key");
    fireEvent.click(button("Try again"));
    await settle();
    expect(answers).toEqual([{ text: "Well done" }]);
    expect(keys).toEqual([first]);
    expect(localStorage.getItem("planwerk.draft.request.q3")).toBeNull();
  });

  it("twice is sent once", async () => {
    const { answers } = accept("q2");
    await openInbox(choice);
    fireEvent.click(button("Red"));
    fireEvent.click(button("Blue"));
    await settle();
    expect(answers).toEqual([{ text: "red" }]);
  });

  it.each([
    ["request_answered", "answered", "Your answer came second", "Ben answered “their words”"],
    ["request_timed_out", "timed_out", "Your answer came too late: the time was over.", "Not answered in time"],
    ["request_closed", "closed", "Your answer came too late: the run has ended.", "Not answered, the run ended"],
  ] as const)("after %s tells what came first, and keeps what was typed", async (code, status, late, told) => {
    const theirs = { answer: { text: "their words" }, answered_by: { kind: "user" as const, id: "b1", name: "Ben" } };
    const closed = { ...words, status, may_answer: false, closed: "2026-01-05T09:59:00Z" };
    server.on("GET /api/requests/q3", () => json(status === "answered" ? { ...closed, ...theirs } : closed));
    server.on("POST /api/requests/q3/answer", () => problem(409, code, "No."));
    await openInbox(words);
    fireEvent.change(screen.getByRole("textbox", { name: "Your answer" }), { target: { value: "my words" } });
    fireEvent.click(button("Send answer"));
    await settle();
    const done = screen.getByRole("region", { name: "Done just now" });
    expect(done).toHaveTextContent(told);
    expect(within(done).getByRole("alert")).toHaveTextContent(late);
    expect(done).toHaveTextContent("You had written: my words");
  });

  it.each([
    [403, "forbidden", "You may not answer this."],
    [404, "not_found", "This question does not exist any more"],
    [422, "answer_invalid", "The answer does not fit what was asked."],
  ])("that is refused with %d says why", async (status, code, said) => {
    server.on("POST /api/requests/q3/answer", () => problem(status, code, "No."));
    await openInbox(words);
    fireEvent.change(screen.getByRole("textbox", { name: "Your answer" }), { target: { value: "x" } });
    fireEvent.click(button("Send answer"));
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent(said);
    expect(within(screen.getByRole("alert")).queryByRole("button")).toBeNull();
  });

  it("says whom else it is put to", async () => {
    await openInbox({ ...words, recipients: ["a1", "b1", "c1"] });
    expect(card(/What shall/)).toHaveTextContent("Needs you · you or 2 others may answer");
  });
});

describe("a run that waits, in its chat", () => {
  async function openChat(request: PersonRequest) {
    server.maker.ask("m1", null, "r1");
    ask(server.maker, request);
    server.inbox = request.may_answer ? [request] : [];
    await openApp("/threads/t1");
    await settle();
  }

  it("shows its card below the line that says so, and the row in the list stands above all", async () => {
    await openChat(choice);
    expect(screen.getByRole("button", { name: "Waiting for you" })).toBeInTheDocument();
    expect(card(/Assistant asks: Which colour\?/)).toBeInTheDocument();
    const chats = screen.getByRole("region", { name: "Chats" });
    expect(within(chats).getByRole("heading", { name: "Waiting for you" })).toBeInTheDocument();
    expect(within(chats).getByRole("link", { name: /Title of t1/ })).toHaveTextContent("Needs you");
    expect(screen.getByRole("button", { name: "Stop" })).toBeInTheDocument();
  });

  it("goes on when it is answered, and the card is one line", async () => {
    accept("q2");
    await openChat(choice);
    fireEvent.click(button("Red"));
    await settle();
    expect(screen.queryByRole("article", { name: /Which colour/ })).toBeNull();
    expect(screen.getByText(/You answered “Red”/)).toBeInTheDocument();
    answer(server.maker, choice, { text: "red" });
    server.maker.answer("r1", "m1", "Red it is.");
    tellNewest(4);
    await settle();
    expect(screen.getByText(/You answered “Red”/)).toBeInTheDocument();
    expect(screen.getByText("Red it is.")).toBeInTheDocument();
    expect(screen.getByRole("button", { name: /Worked/ })).toBeInTheDocument();
  });

  it("lets go of the card when somebody else answers, and says who", async () => {
    await openChat(choice);
    answer(server.maker, choice, { text: "blue" });
    Object.assign(server.maker.envelopes.at(-2) ?? {}, { actor: { kind: "user", id: "b1", name: "Ben" } });
    tellNewest(2);
    await settle();
    expect(screen.getByText(/Ben answered “Blue”/)).toBeInTheDocument();
  });

  it("is only looked at by whom it does not ask", async () => {
    await openChat({ ...choice, may_answer: false, recipients: ["b1"] });
    expect(screen.getByRole("button", { name: "Waiting for somebody else" })).toBeInTheDocument();
    expect(card(/Which colour/)).toHaveTextContent("Waits for somebody else");
    expect(within(card(/Which colour/)).queryByRole("button")).toBeNull();
  });

  it("that asks in the conversation is answered by the composer, and can be stopped", async () => {
    const back = { ...requestOf("q4", { kind: "chat", question: "How many?" }) };
    server.maker.ask("m1", null, "r1");
    ask(server.maker, back);
    const posted = { message_id: "q4", parent_id: "m1", role: "assistant", content: "How many?", run_id: null };
    Object.assign(server.maker.add("message_posted", { ...posted, request_id: "q4" }), { run: "r1" });
    const sent: unknown[] = [];
    server.on("POST /api/threads/t1/messages", ({ body }) => {
      sent.push(body);
      return json({ run_id: "r1", message_id: "m2", seq: 9 }, 202);
    });
    await openApp("/threads/t1");
    await settle();
    expect(screen.getByRole("status")).toHaveTextContent("Assistant waits for your answer.");
    expect(screen.getByRole("article", { name: "Question" })).toHaveTextContent("How many?");
    expect(screen.getByRole("button", { name: "Stop" })).toBeInTheDocument();
    fireEvent.change(screen.getByRole("textbox", { name: "Message" }), { target: { value: "four" } });
    expect(screen.queryByRole("radiogroup", { name: "When" })).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Send" }));
    await settle();
    expect(sent).toMatchObject([{ content: "four", when: "next" }]);
  });
});

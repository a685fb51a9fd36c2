import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openApp, settle } from "../testing/app";
import { FakeServer, json, problem, SESSION } from "../testing/server";

let server: FakeServer;

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  server.on("POST /api/session", ({ body }) => {
    const { password } = body as { password: string };
    return password === "right" ? json(SESSION) : problem(401, "wrong_credentials", "No.");
  });
});

const anonymous = () => server.on("GET /api/session", () => problem(401, "unauthorized", "No session."));

function fill(password: string, login?: string) {
  if (login !== undefined) fireEvent.change(screen.getByLabelText("Name or e-mail"), { target: { value: login } });
  fireEvent.change(screen.getByLabelText("Password"), { target: { value: password } });
  fireEvent.click(screen.getByRole("button", { name: "Sign in" }));
}

describe("signing in", () => {
  it("leads to the chat", async () => {
    anonymous();
    await openApp("/");
    fill("right", "anna");
    await settle();
    expect(screen.getByRole("heading", { name: /, Anna$/ })).toBeInTheDocument();
  });

  it("with a wrong password says so and keeps what was typed", async () => {
    anonymous();
    await openApp("/");
    fill("wrong", "anna");
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("Name or password is not right.");
    expect(screen.getByLabelText("Name or e-mail")).toHaveValue("anna");
  });

  it("tells of a link that was used already", async () => {
    anonymous();
    await openApp("/?signin=expired");
    expect(screen.getByRole("alert")).toHaveTextContent("used already or is too old");
  });

  it("speaks the language that is chosen", async () => {
    anonymous();
    await openApp("/");
    fireEvent.click(screen.getByRole("radio", { name: "Deutsch" }));
    await vi.dynamicImportSettled();
    await settle();
    expect(screen.getByRole("heading", { name: "Anmelden" })).toBeInTheDocument();
    expect(document.documentElement.lang).toBe("de");
  });
});

describe("when the session has ended", () => {
  it("the page stays, asks in a dialog, and no text is lost", async () => {
    server.thread("t1");
    server.on("POST /api/threads/t1/messages", () => problem(401, "unauthorized", "No session."));
    await openApp("/threads/t1");
    const box = screen.getByRole("textbox", { name: "Message" });
    fireEvent.change(box, { target: { value: "a long question" } });
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    await settle();
    const dialog = screen.getByRole("dialog", { name: "Please sign in again" });
    expect(within(dialog).getByLabelText("Name or e-mail")).toHaveValue("anna");

    fill("right");
    await settle();
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(box).toBeInTheDocument();
    expect(box).toHaveValue("a long question");
  });

  it("the stream comes back after signing in again", async () => {
    await openApp("/");
    const before = server.streams.length;
    server.on("GET /api/workspaces/w1/stream", () => problem(401, "unauthorized", "No session."));
    server.streams.forEach((stream) => stream.break());
    await settle(3000);
    expect(screen.getByRole("dialog")).toBeInTheDocument();
    server = Object.assign(new FakeServer(), { streams: server.streams });
    server.on("POST /api/session", () => json(SESSION));
    fill("right");
    await settle();
    expect(server.streams.length).toBeGreaterThan(before);
    expect(server.streams.filter((stream) => stream.open)).toHaveLength(1);
  });
});

describe("a server that does not answer", () => {
  it("is told, and can be asked again", async () => {
    server.down = true;
    await openApp("/");
    expect(screen.getByRole("heading", { name: "The server does not answer." })).toBeInTheDocument();
    server.down = false;
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await settle();
    expect(screen.getByRole("heading", { name: /, Anna$/ })).toBeInTheDocument();
  });
});

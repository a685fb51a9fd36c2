import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Memory } from "../api/types";
import { openApp, settle } from "../testing/app";
import { FakeServer, json, problem } from "../testing/server";

let server: FakeServer;
let memories: Memory[] = [];

const DOG: Memory = {
  id: "m1",
  text: "Has a dog called Rex.",
  created: "2026-01-05T09:00:00Z",
  updated: "2026-01-05T09:00:00Z",
  source: { run: "r1", thread: "t1", title: "About dogs" },
};
const TEA: Memory = { ...DOG, id: "m2", text: "Likes tea.", source: { run: "r2", thread: null, title: null } };
const OLD: Memory = { ...DOG, id: "m3", text: "Lives in Bern.", created: "2024-03-01T09:00:00Z", source: null };

const page = (items: Memory[], more: { next?: string; total?: number } = {}) =>
  json({ items, next: more.next ?? null, total: more.total ?? items.length, most: 500 });

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-06T10:00:00Z") });
  server = new FakeServer();
  memories = [DOG, TEA, OLD];
  server.on("GET /api/me/memories", ({ url }) => {
    const query = url.searchParams.get("query");
    const fits = memories.filter((one) => query === null || one.text.toLowerCase().includes(query));
    return json({ items: fits, next: null, total: memories.length, most: 500 });
  });
});

async function openMemory(): Promise<void> {
  await import("./Memory");
  await openApp("/settings/memory");
  await settle();
}

const rows = () => within(screen.getByRole("list", { name: "What is remembered" })).getAllByRole("listitem");
function row(place: number): HTMLElement {
  const found = rows()[place];
  if (found === undefined) throw new Error(`There is no row ${place}.`);
  return found;
}
const button = (name: string | RegExp) => screen.getByRole("button", { name });

describe("the memory page", () => {
  it("is reached from the account", async () => {
    await import("./Memory");
    await openApp("/");
    fireEvent.click(screen.getByRole("button", { name: /account/i }));
    const link = screen.getByRole("link", { name: "Memory" });
    expect(link).toHaveAttribute("href", "/settings/memory");
    fireEvent.click(link);
    await settle();
    expect(screen.getByRole("heading", { level: 1, name: "Memory" })).toBeVisible();
    expect(screen.queryByRole("dialog", { name: "Account" })).toBeNull();
  });

  it("lists what is remembered with where it was said", async () => {
    await openMemory();
    const [dog, tea, old] = [row(0), row(1), row(2)];
    expect(dog).toHaveTextContent("Has a dog called Rex.");
    expect(within(dog).getByRole("link", { name: "Said in “About dogs”" })).toHaveAttribute("href", "/threads/t1");
    expect(within(tea).getByRole("link", { name: "Said in a run" })).toHaveAttribute("href", "/runs/r2");
    expect(within(old).queryByRole("link")).toBeNull();
    expect(old).toHaveTextContent("March 2024");
    expect(old).toHaveTextContent("changed: January 5");
    expect(dog).not.toHaveTextContent("changed");
    expect(screen.getByText("3 items")).toBeVisible();
    expect(screen.getByRole("link", { name: "Export" })).toHaveAttribute("href", "/api/me/memories/export");
  });

  it("says what will be there where nothing is", async () => {
    memories = [];
    await openMemory();
    expect(screen.getByText("Nothing is remembered about you yet")).toBeVisible();
    expect(screen.getByRole("link", { name: "Begin a chat" })).toHaveAttribute("href", "/");
    expect(screen.queryByRole("link", { name: "Export" })).toBeNull();
    expect(screen.queryByRole("searchbox")).toBeNull();
  });

  it("edits in place: Enter keeps, and the focus is back on the button", async () => {
    server.on("PATCH /api/me/memories/m1", ({ body }) => json({ ...DOG, ...(body as object), updated: "2026-01-06T10:00:00Z" }));
    await openMemory();
    fireEvent.click(button("Edit: Has a dog called Rex."));
    const field = screen.getByRole("textbox", { name: "What is remembered" });
    expect(field).toHaveFocus();
    fireEvent.change(field, { target: { value: "  Has two dogs. " } });
    fireEvent.keyDown(field, { key: "Enter" });
    await settle();
    expect(rows()[0]).toHaveTextContent("Has two dogs.");
    expect(server.calls.at(-1)).toMatchObject({ method: "PATCH", body: { text: "Has two dogs." } });
    expect(button("Edit: Has two dogs.")).toHaveFocus();
    expect(screen.getByRole("status")).toHaveTextContent("Saved.");
  });

  it("leaves it as it was with Escape, and sends nothing that is blank or the same", async () => {
    await openMemory();
    fireEvent.click(button("Edit: Likes tea."));
    const field = screen.getByRole("textbox", { name: "What is remembered" });
    fireEvent.change(field, { target: { value: "  " } });
    expect(button("Save")).toBeDisabled();
    fireEvent.keyDown(field, { key: "Enter" });
    fireEvent.keyDown(field, { key: "Escape" });
    expect(rows()[1]).toHaveTextContent("Likes tea.");
    expect(button("Edit: Likes tea.")).toHaveFocus();
    fireEvent.click(button("Edit: Likes tea."));
    fireEvent.click(button("Save"));
    await settle();
    expect(server.calls.filter((call) => call.method === "PATCH")).toEqual([]);
  });

  it("keeps what was written where it cannot be saved", async () => {
    server.on("PATCH /api/me/memories/m2", () => problem(404, "not_found", "There is no such memory."));
    await openMemory();
    fireEvent.click(button("Edit: Likes tea."));
    const field = screen.getByRole("textbox", { name: "What is remembered" });
    fireEvent.change(field, { target: { value: "Likes coffee." } });
    fireEvent.click(button("Save"));
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("There is no such memory.");
    expect(field).toHaveValue("Likes coffee.");
  });

  it("deletes for good once that is confirmed", async () => {
    server.on("DELETE /api/me/memories/m2", () => new Response(null, { status: 204 }));
    await openMemory();
    fireEvent.click(button("Delete: Likes tea."));
    expect(screen.getByRole("group", { name: "Delete this for good?" })).toBeVisible();
    expect(button("Keep")).toHaveFocus();
    fireEvent.click(button("Keep"));
    expect(button("Delete: Likes tea.")).toHaveFocus();
    expect(rows()).toHaveLength(3);
    fireEvent.click(button("Delete: Likes tea."));
    fireEvent.click(button("Delete"));
    await settle();
    expect(rows()).toHaveLength(2);
    expect(screen.getByText("2 items")).toBeVisible();
    expect(screen.getByRole("heading", { level: 1 })).toHaveFocus();
  });

  it("deletes all once that is confirmed", async () => {
    server.on("DELETE /api/me/memories", () => json({ deleted: 3 }));
    await openMemory();
    fireEvent.click(button("Delete all"));
    const asked = screen.getByRole("group", { name: "Delete all 3 items for good?" });
    fireEvent.click(within(asked).getByRole("button", { name: "Delete all" }));
    await settle();
    expect(screen.getByText("Nothing is remembered about you yet")).toBeVisible();
  });

  it("searches what was typed, and shows all again", async () => {
    memories = [...memories, ...Array.from({ length: 7 }, (_, n) => ({ ...DOG, id: `n${n}`, text: `Fact ${n}.` }))];
    await openMemory();
    const field = screen.getByRole("searchbox", { name: "Search what is remembered" });
    fireEvent.change(field, { target: { value: "tea" } });
    await settle(300);
    expect(rows()).toHaveLength(1);
    expect(screen.queryByRole("button", { name: "Delete all" })).toBeNull();
    fireEvent.change(field, { target: { value: "nothing" } });
    await settle(300);
    expect(screen.getByText(/Nothing that is remembered fits “nothing”/)).toBeVisible();
    fireEvent.click(button("Show all"));
    await settle(300);
    expect(field).toHaveValue("");
    expect(rows()).toHaveLength(10);
  });

  it("goes on with the next page", async () => {
    server.on("GET /api/me/memories", ({ url }) =>
      url.searchParams.get("cursor") === null ? page([DOG], { next: "5.m1", total: 2 }) : page([TEA], { total: 2 }),
    );
    await openMemory();
    fireEvent.click(button("Show more"));
    await settle();
    expect(rows().map((row) => row.querySelector(".text")?.textContent)).toEqual([DOG.text, TEA.text]);
    expect(screen.queryByRole("button", { name: "Show more" })).toBeNull();
  });

  it("says that it is full", async () => {
    server.on("GET /api/me/memories", () => json({ items: [DOG], next: null, total: 500, most: 500 }));
    await openMemory();
    expect(screen.getByText(/500 items are remembered, which is the limit/)).toBeVisible();
  });

  it("can be asked again where it could not be read", async () => {
    server.on("GET /api/me/memories", () => problem(503, "storage_busy", "Busy."));
    await openMemory();
    expect(screen.getByRole("alert")).toHaveTextContent("What is remembered could not be read.");
    server.on("GET /api/me/memories", () => page([DOG]));
    fireEvent.click(button("Try again"));
    await settle();
    expect(rows()).toHaveLength(1);
  });
});

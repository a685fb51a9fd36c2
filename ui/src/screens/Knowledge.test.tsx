import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Collection, KnowledgeDocument, KnowledgeHit } from "../api/types";
import { openApp, settle } from "../testing/app";
import { FakeServer, json, problem } from "../testing/server";

let server: FakeServer;
let collections: Collection[] = [];
let documents: KnowledgeDocument[] = [];

const HANDBOOK: Collection = {
  id: "c1",
  name: "Handbook",
  description: "How we work.",
  owner: "a1",
  access: [],
  is_open: false,
  embedder: null,
  created: "2026-01-02T09:00:00Z",
  updated: "2026-01-05T09:00:00Z",
  documents: 2,
  passages: 7,
  pending: 0,
  failed: 1,
  may_edit: true,
};
const READY: KnowledgeDocument = {
  id: "d1",
  collection: "c1",
  name: "leave.pdf",
  title: "Leave",
  kind: "pdf",
  size_bytes: 2048,
  stage: "chunked",
  state: "ready",
  failure: null,
  passages: 7,
  created: "2026-01-05T09:00:00Z",
  updated: "2026-01-05T09:00:00Z",
  changed: null,
};
const BROKEN: KnowledgeDocument = {
  ...READY,
  id: "d2",
  name: "old.pdf",
  stage: "received",
  state: "failed",
  passages: 0,
  failure: { code: "document_broken", message: "The PDF is damaged.", what_to_do: "Save it again." },
};
const HIT: KnowledgeHit = {
  id: "s3f9a1c",
  collection: "c1",
  collection_name: "Handbook",
  document: "d1",
  name: "leave.pdf",
  title: "Leave",
  text: "Ask two weeks before.",
  headings: ["Leave", "Asking"],
  location: { kind: "page", first: 3, last: 4, name: "" },
  start: 0,
  end: 21,
  score: 0.0328,
};

const list = (may_create = true) => json({ items: collections, may_create, embedders: [] });

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-06T10:00:00Z") });
  server = new FakeServer();
  collections = [HANDBOOK];
  documents = [READY, BROKEN];
  server.on("GET /api/collections", () => list());
  server.on("GET /api/collections/c1", () =>
    collections[0] === undefined ? problem(404, "not_found", "Nothing.") : json(collections[0]),
  );
  server.on("GET /api/collections/c1/documents", () => json({ items: documents, next: null }));
});

async function open(path: string): Promise<void> {
  await import("./Knowledge");
  await openApp(path);
  await settle();
}

const button = (name: string | RegExp) => screen.getByRole("button", { name });

describe("the collections", () => {
  it("are listed with counts, freshness and access", async () => {
    await open("/knowledge");
    const [row] = within(screen.getByRole("list", { name: "Collections" })).getAllByRole("listitem");
    expect(row).toHaveTextContent("Handbook");
    expect(row).toHaveTextContent("2 documents");
    expect(row).toHaveTextContent("7 passages");
    expect(row).toHaveTextContent("Updated January 5");
    expect(row).toHaveTextContent("Only you");
    expect(row).toHaveTextContent("1 failed");
    expect(screen.getByRole("link", { name: /Handbook/ })).toHaveAttribute("href", "/knowledge/c1");
    expect(screen.getByRole("link", { name: "Knowledge" })).toHaveAttribute("aria-current", "page");
  });

  it("say what to do where there are none, by what one may", async () => {
    collections = [];
    await open("/knowledge");
    expect(screen.getByText("There are no collections yet")).toBeVisible();
    expect(button("New collection")).toBeVisible();
    server.on("GET /api/collections", () => list(false));
    await open("/knowledge");
    expect(screen.getAllByText(/A builder can make one/)[0]).toBeVisible();
  });

  it("are made with a name, and opened", async () => {
    const made: unknown[] = [];
    server.on("POST /api/collections", ({ body }) => {
      made.push(body);
      return json(HANDBOOK, 201);
    });
    await open("/knowledge");
    fireEvent.click(button("New collection"));
    expect(button("Make it")).toBeDisabled();
    fireEvent.change(screen.getByRole("textbox", { name: "Name" }), { target: { value: " Handbook " } });
    fireEvent.click(button("Make it"));
    await settle();
    expect(made).toEqual([{ name: "Handbook", access: [] }]);
    expect(screen.getByRole("heading", { level: 1, name: "Handbook" })).toBeVisible();
  });

  it("can be looked for again when they could not be read", async () => {
    server.on("GET /api/collections", () => problem(503, "storage_busy", "Busy."));
    await open("/knowledge");
    expect(screen.getByRole("alert")).toHaveTextContent("The collections could not be read.");
    server.on("GET /api/collections", () => list());
    fireEvent.click(button("Try again"));
    await settle();
    expect(screen.getByText("Handbook")).toBeVisible();
  });
});

describe("a collection", () => {
  it("shows how far each document has come, why it failed, and tries it again", async () => {
    server.on("POST /api/documents/d2/retry", () => {
      documents = [READY, { ...BROKEN, state: "waiting", failure: null }];
      return json(documents[1], 202);
    });
    await open("/knowledge/c1");
    const ready = screen.getByRole("row", { name: /leave\.pdf/ });
    const broken = screen.getByRole("row", { name: /old\.pdf/ });
    expect(ready).toHaveTextContent("Ready");
    expect(within(ready).getByRole("link", { name: "leave.pdf" })).toHaveAttribute("href", "/api/documents/d1/original");
    expect(broken).toHaveTextContent("Failed");
    expect(broken).toHaveTextContent("received");
    expect(broken).toHaveTextContent("The PDF is damaged. Save it again.");
    fireEvent.click(button("Try again: old.pdf"));
    await settle();
    expect(screen.getByRole("row", { name: /old\.pdf/ })).toHaveTextContent("Waiting");
  });

  it("is looked at again while documents are read", async () => {
    collections = [{ ...HANDBOOK, pending: 1 }];
    documents = [{ ...READY, state: "working", stage: "parsed" }];
    await open("/knowledge/c1");
    expect(screen.getByRole("row", { name: /leave\.pdf/ })).toHaveTextContent("Reading");
    collections = [HANDBOOK];
    documents = [READY];
    await vi.advanceTimersByTimeAsync(1500);
    await settle();
    expect(screen.getByRole("row", { name: /leave\.pdf/ })).toHaveTextContent("Ready");
    const before = server.count("GET", "/api/collections/c1");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.count("GET", "/api/collections/c1")).toBe(before);
  });

  it("takes files one by one, and says which were not taken", async () => {
    let answers = 0;
    server.on("POST /api/collections/c1/documents", () => {
      answers += 1;
      return answers === 1 ? problem(413, "file_too_large", "The file is too large.") : json({ items: [READY] }, 202);
    });
    await open("/knowledge/c1");
    const files = [new File(["x"], "huge.pdf"), new File(["y"], "small.md")];
    fireEvent.change(screen.getByTestId("files"), { target: { files } });
    await settle();
    await settle();
    expect(server.count("POST", "/api/collections/c1/documents")).toBe(2);
    expect(screen.getByRole("alert")).toHaveTextContent("huge.pdf was not taken. The file is too large.");
    expect(server.calls.find((call) => call.method === "POST")?.headers.has("Content-Type")).toBe(false);
    expect(button("Upload")).toBeEnabled();
  });

  it("shows what a question finds, with scores and places", async () => {
    server.on("POST /api/knowledge/search", ({ body }) =>
      json({ items: (body as { query: string }).query === "leave" ? [HIT] : [] }),
    );
    await open("/knowledge/c1");
    const field = screen.getByRole("searchbox", { name: "Question" });
    fireEvent.change(field, { target: { value: "leave" } });
    fireEvent.click(button("Look"));
    await settle();
    const [hit] = within(screen.getByRole("list", { name: "Passages found" })).getAllByRole("listitem");
    for (const said of ["Ask two weeks before.", "page 3–4", "Leave › Asking", "Score 0.0328"]) {
      expect(hit).toHaveTextContent(said);
    }
    fireEvent.change(field, { target: { value: "else" } });
    fireEvent.click(button("Look"));
    await settle();
    expect(screen.getByText("No passage fits. Try other words.")).toBeVisible();
  });

  it("is shared with everyone and taken back", async () => {
    const changes: unknown[] = [];
    server.on("PATCH /api/collections/c1", ({ body }) => {
      changes.push(body);
      collections = [{ ...HANDBOOK, is_open: changes.length === 1, access: changes.length === 1 ? null : [] }];
      return json(collections[0]);
    });
    await open("/knowledge/c1");
    expect(screen.getByRole("radio", { name: "Only you" })).toBeChecked();
    fireEvent.click(screen.getByRole("radio", { name: "Everyone" }));
    await settle();
    expect(screen.getByRole("radio", { name: "Everyone" })).toBeChecked();
    fireEvent.click(screen.getByRole("radio", { name: "Only you" }));
    await settle();
    expect(changes).toEqual([{ access: null }, { access: [] }]);
  });

  it("asks before it deletes a document or itself", async () => {
    server.on("DELETE /api/documents/d1", () => {
      documents = [BROKEN];
      return new Response(null, { status: 204 });
    });
    server.on("DELETE /api/collections/c1", () => {
      collections = [];
      return new Response(null, { status: 204 });
    });
    await open("/knowledge/c1");
    fireEvent.click(button("Delete leave.pdf"));
    expect(button("Keep")).toHaveFocus();
    fireEvent.click(within(screen.getByRole("group", { name: "Delete leave.pdf" })).getByText("Delete"));
    await settle();
    expect(screen.queryByRole("row", { name: /leave\.pdf/ })).toBeNull();
    fireEvent.click(button("Delete the collection"));
    expect(screen.getByText("Delete the collection with 2 documents? This cannot be undone.")).toBeVisible();
    fireEvent.click(within(screen.getByRole("group", { name: "Delete the collection" })).getByText("Delete"));
    await settle();
    expect(screen.getByText("There are no collections yet")).toBeVisible();
  });

  it("that is somebody else's to change is only read", async () => {
    collections = [{ ...HANDBOOK, may_edit: false, access: null }];
    await open("/knowledge/c1");
    expect(screen.getByText("Shared with you")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Upload" })).toBeNull();
    expect(screen.queryByRole("button", { name: /Delete/ })).toBeNull();
    expect(screen.queryByRole("button", { name: /again/ })).toBeNull();
  });

  it("that is not there says so", async () => {
    collections = [];
    await open("/knowledge/c1");
    expect(screen.getByText("There is no such collection, or it is not yours to read.")).toBeVisible();
  });
});

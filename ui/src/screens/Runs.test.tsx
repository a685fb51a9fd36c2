import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openApp, settle } from "../testing/app";
import { MOST_VIEWS, useSavedViews } from "../store/savedViews";
import { FakeServer, json, problem } from "../testing/server";

let server: FakeServer;
let runs: Record<string, unknown>[] = [];

function run(id: string, change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id,
    tenant: "default",
    workspace: "w1",
    thread: "t1",
    title: `Question of ${id}`,
    profile: "assistant",
    profile_name: "Assistant",
    profile_version: 3,
    blueprint: "LLMWrappingAgent",
    status: "completed",
    started: "2026-01-05T09:01:00Z",
    ended: "2026-01-05T09:01:12Z",
    started_by: { kind: "user", name: "Anna" },
    usage: null,
    cost: "0.002",
    error: null,
    forked_from: null,
    forked_at: null,
    ...change,
  };
}

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-05T10:00:00Z") });
  server = new FakeServer();
  server.thread("t1");
  runs = [run("r2"), run("r1", { status: "failed", cost: null })];
  server.on("GET /api/runs", ({ url }) => {
    const wanted = url.searchParams.getAll("status");
    const fitting = runs.filter((one) => wanted.length === 0 || wanted.includes(String(one.status)));
    const cursor = url.searchParams.get("cursor");
    const from = cursor === null ? 0 : Number(cursor);
    const next = fitting.length > from + 3 ? String(from + 3) : null;
    return json({ items: fitting.slice(from, from + 3), next });
  });
});

async function openRuns(query = ""): Promise<void> {
  await import("./Runs");
  await openApp(`/runs${query}`);
  await settle();
}

const rows = () => within(screen.getByRole("list", { name: "Runs" })).getAllByRole("link");

describe("the list of runs", () => {
  it("tells state, question, agent, start, duration and cost, and leads to the run", async () => {
    await openRuns();
    expect(rows().map((row) => row.textContent)).toEqual([
      expect.stringMatching(/^DoneQuestion of r2Assistant.*12 s\$0\.002$/),
      expect.stringMatching(/^FailedQuestion of r1Assistant.*12 s$/),
    ]);
    expect(rows()[0]).toHaveAttribute("href", "/runs/r2");
    expect(screen.getByRole("link", { name: "Runs" })).toHaveAttribute("aria-current", "page");
  });

  it("names a run without a question by its agent, and marks a fork", async () => {
    runs = [run("r3", { title: "", forked_from: "r2", forked_at: 7 })];
    await openRuns();
    expect(rows()[0]).toHaveTextContent("ForkRun of Assistant");
  });

  it("shows more where there is more", async () => {
    runs = ["r5", "r4", "r3", "r2", "r1"].map((id) => run(id));
    await openRuns();
    expect(rows()).toHaveLength(3);
    fireEvent.click(screen.getByRole("button", { name: "Show more" }));
    await settle();
    expect(rows()).toHaveLength(5);
    expect(screen.queryByRole("button", { name: "Show more" })).toBeNull();
  });
});

describe("choosing two runs", () => {
  const pick = (run: string) => fireEvent.click(screen.getByRole("checkbox", { name: `Choose Question of ${run}` }));

  it("leads to both side by side, the one chosen first at the left", async () => {
    runs = [run("r3"), run("r2"), run("r1")];
    await openRuns();
    fireEvent.click(screen.getByRole("button", { name: "Compare" }));
    pick("r1");
    expect(screen.getByText("Choose two runs.")).toBeInTheDocument();
    pick("r3");
    expect(screen.getByRole("link", { name: "Compare these two" })).toHaveAttribute("href", "/runs/compare?a=r1&b=r3");
  });

  it("keeps the last two, and can be left", async () => {
    runs = [run("r3"), run("r2"), run("r1")];
    await openRuns();
    fireEvent.click(screen.getByRole("button", { name: "Compare" }));
    for (const one of ["r1", "r2", "r3"]) pick(one);
    expect(screen.getByRole("link", { name: "Compare these two" })).toHaveAttribute("href", "/runs/compare?a=r2&b=r3");
    pick("r3");
    expect(screen.queryByRole("link", { name: "Compare these two" })).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
    expect(rows()).toHaveLength(3);
  });
});

describe("filters", () => {
  it("stand in the address and choose what is asked for", async () => {
    await openRuns();
    fireEvent.change(screen.getByLabelText("State"), { target: { value: "failed" } });
    await settle();
    expect(rows()).toHaveLength(1);
    expect(window.location.search).toBe("?status=failed");
    fireEvent.change(screen.getByLabelText("State"), { target: { value: "" } });
    await settle();
    expect(rows()).toHaveLength(2);
    expect(window.location.search).toBe("");
  });

  it("of an address are followed, and one chat can be let go", async () => {
    await openRuns("?thread=t1&status=completed");
    expect(rows()).toHaveLength(1);
    fireEvent.click(screen.getByRole("button", { name: "Of one chat" }));
    await settle();
    expect(window.location.search).toBe("?status=completed");
  });

  it("that nothing fits say so and can be taken away", async () => {
    await openRuns("?status=stopped");
    expect(screen.getByText("No run fits")).toBeInTheDocument();
    fireEvent.click(screen.getByRole("button", { name: "Show all" }));
    await settle();
    expect(rows()).toHaveLength(2);
  });
});

describe("a list that is empty or cannot be read", () => {
  it("says what it is for", async () => {
    runs = [];
    await openRuns();
    expect(screen.getByText("No runs yet")).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "Ask a first question" })).toHaveAttribute("href", "/");
  });

  it("says so and tries again", async () => {
    const good = server;
    good.on("GET /api/runs", () => problem(500, "internal", "No."));
    await openRuns();
    expect(screen.getByRole("alert")).toHaveTextContent("The runs could not be read.");
    good.on("GET /api/runs", () => json({ items: runs, next: null }));
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await settle();
    expect(rows()).toHaveLength(2);
  });
});

describe("what happens meanwhile", () => {
  it("waits behind a pill, so that nothing jumps", async () => {
    await openRuns();
    runs = [run("r4"), run("r3"), ...runs];
    server.tell(server.maker.ask("m9", null, "r4"));
    await settle();
    expect(rows()).toHaveLength(2);
    fireEvent.click(screen.getByRole("button", { name: "2 new runs" }));
    expect(rows()[0]).toHaveTextContent("Question of r4");
    expect(screen.queryByRole("button", { name: /new run/ })).toBeNull();
  });

  it("brings what is listed up to date", async () => {
    runs = [run("r3", { status: "running", ended: null, cost: null }), ...runs];
    await openRuns();
    expect(rows()[0]).toHaveTextContent("Working");
    runs = [run("r3"), ...runs.slice(1)];
    await settle(4100);
    expect(rows()[0]).toHaveTextContent("Done");
  });
});

describe("saved views", () => {
  const views = () => within(screen.getByRole("group", { name: "Saved views" }));
  const press = (name: string) => fireEvent.click(views().getByRole("button", { name }));
  const name = (text: string) => {
    fireEvent.change(screen.getByRole("textbox", { name: "Name of the view" }), { target: { value: text } });
    fireEvent.click(screen.getByRole("button", { name: "Save" }));
  };

  beforeEach(() => useSavedViews.setState({ views: {} }));

  it("are not offered where nothing is filtered and none are there", async () => {
    await openRuns();
    expect(screen.queryByRole("group", { name: "Saved views" })).toBeNull();
  });

  it("keep the filters of the address under a name, open them, and show all again", async () => {
    await openRuns("?profile=assistant&status=failed");
    press("Save view");
    name("  Broken  ");
    expect(views().getByRole("button", { name: "Broken" })).toHaveAttribute("aria-pressed", "true");
    press("Broken");
    await settle();
    expect(rows()).toHaveLength(2);
    expect(views().queryByRole("button", { name: "Save view" })).toBeNull();
    press("Broken");
    await settle();
    expect(rows()).toHaveLength(1);
    expect(screen.getByRole("combobox", { name: "State" })).toHaveValue("failed");
  });

  it("are renamed and deleted", async () => {
    await openRuns("?status=failed");
    press("Save view");
    name("Broken");
    press("Rename “Broken”");
    name("Failed ones");
    expect(views().getByRole("button", { name: "Failed ones" })).toBeInTheDocument();
    press("Delete “Failed ones”");
    expect(views().queryByRole("button", { name: "Failed ones" })).toBeNull();
    expect(views().getByRole("button", { name: "Save view" })).toBeInTheDocument();
  });

  it("take no empty name, and leave by Escape", async () => {
    await openRuns("?status=failed");
    press("Save view");
    name("   ");
    expect(screen.getByRole("textbox", { name: "Name of the view" })).toBeInTheDocument();
    fireEvent.keyDown(screen.getByRole("textbox", { name: "Name of the view" }), { key: "Escape" });
    expect(views().getByRole("button", { name: "Save view" })).toBeInTheDocument();
  });

  it("are a person's own, and so many at most", async () => {
    await openRuns("?status=failed");
    press("Save view");
    name("Mine");
    const [account] = Object.keys(useSavedViews.getState().views);
    const many = Array.from({ length: MOST_VIEWS }, (_, at) => ({ name: `V${at}`, query: `profile=p${at}` }));
    useSavedViews.setState({ views: { [account ?? ""]: many, other: [{ name: "Theirs", query: "status=failed" }] } });
    await settle();
    expect(views().queryByRole("button", { name: "Theirs" })).toBeNull();
    press("Save view");
    expect(screen.queryByRole("textbox", { name: "Name of the view" })).toBeNull();
  });
});

import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ScheduleStatus } from "../api/types";
import { openApp, settle } from "../testing/app";
import { FakeServer, json, problem, SESSION } from "../testing/server";

let server: FakeServer;
let schedules: ScheduleStatus[] = [];

const LAST: ScheduleStatus["recent"][number] = {
  time: "2026-01-05T06:00:00Z",
  outcome: "started",
  run: "r1",
  status: "completed",
  error: null,
  by: null,
  passed_over: false,
};

function schedule(change: Partial<ScheduleStatus["schedule"]> = {}, last = LAST): ScheduleStatus {
  return {
    profile: "daily",
    profile_name: "Daily report",
    schedule: {
      cron: "0 7 * * MON-FRI",
      zone: "Europe/Zurich",
      message: "What is new?",
      event: null,
      locale: null,
      catch_up_seconds: 3600,
      while_running: "skip",
      enabled: true,
      next: ["2026-01-06T06:00:00Z"],
      problem: null,
      ...change,
    },
    recent: [last],
  };
}

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-05T10:00:00Z") });
  server = new FakeServer();
  server.on("GET /api/runs", ({ url }) => json({ items: [], next: null, query: url.search }));
  schedules = [schedule()];
  server.on("GET /api/schedules", () => json({ items: schedules, next: null }));
});

async function openSchedules(query = "?view=schedules"): Promise<void> {
  await import("./Runs");
  await openApp(`/runs${query}`);
  await settle();
}

const row = () => within(screen.getByRole("list", { name: "Schedules" })).getByRole("listitem");

describe("the schedules", () => {
  it("are told in words, with the next time and what came of the last", async () => {
    await openSchedules("");
    fireEvent.click(screen.getByRole("tab", { name: "Schedules" }));
    await settle();
    expect(row()).toHaveTextContent("Daily report");
    expect(row()).toHaveTextContent("Every weekday at 07:00 AM, Zurich time");
    expect(row()).toHaveTextContent(/Next: Tue, Jan 6, 07:00 AM/);
    expect(within(row()).getByRole("link", { name: /^Done, Mon, Jan 5, 07:00 AM/ })).toHaveAttribute("href", "/runs/r1");
    expect(within(row()).getByRole("link", { name: "All runs" })).toHaveAttribute(
      "href",
      "/runs?scheduled=1&profile=daily",
    );
  });

  it("say how to make one where there is none", async () => {
    schedules = [];
    await openSchedules();
    expect(screen.getByText("No agent runs by itself yet")).toBeVisible();
    expect(screen.getByText(/schedule\.cron/)).toBeVisible();
  });

  it.each([
    [{ ...LAST, status: "failed" }, "Failed,"],
    [{ ...LAST, status: null }, "Works since"],
    [{ ...LAST, outcome: "skipped" as const, run: null, status: null }, "Skipped,"],
    [{ ...LAST, outcome: "missed" as const, run: null, status: null }, "Missed,"],
  ])("tell what came of the last: %#", async (last, told) => {
    schedules = [schedule({}, last)];
    await openSchedules();
    expect(row()).toHaveTextContent(told);
  });

  it("are paused and taken up again", async () => {
    server.on("PATCH /api/profiles/daily", ({ body }) => {
      const { enabled } = (body as { schedule: { enabled: boolean } }).schedule;
      schedules = [schedule({ enabled, next: [] })];
      return json({});
    });
    await openSchedules();
    fireEvent.click(screen.getByRole("button", { name: "Pause the schedule of Daily report" }));
    await settle();
    expect(row()).toHaveTextContent("Paused");
    fireEvent.click(screen.getByRole("button", { name: "Resume the schedule of Daily report" }));
    await settle();
    expect(screen.getByRole("button", { name: "Pause the schedule of Daily report" })).toBeVisible();
  });

  it("are run by hand, each start with a key of its own, and say why they are not", async () => {
    server.on("POST /api/profiles/daily/schedule/run", () => json({ run_id: "r2" }, 202));
    await openSchedules();
    const run = screen.getByRole("button", { name: "Run Daily report now" });
    fireEvent.click(run);
    await settle();
    server.on("POST /api/profiles/daily/schedule/run", () =>
      problem(409, "schedule_still_running", "Run r2 has not ended."),
    );
    fireEvent.click(run);
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("Run r2 has not ended.");
    const keys = server.calls
      .filter((call) => call.path === "/api/profiles/daily/schedule/run")
      .map((call) => call.headers.get("Idempotency-Key"));
    expect(new Set(keys).size).toBe(2);
  });

  it("say why one is not kept", async () => {
    schedules = [schedule({ problem: "there is no time zone 'Mars'.", next: [] })];
    await openSchedules();
    expect(screen.getByRole("alert")).toHaveTextContent("there is no time zone 'Mars'.");
  });

  it("can be read again where they could not", async () => {
    server.on("GET /api/schedules", () => problem(503, "unavailable", "Not now."));
    await openSchedules();
    expect(screen.getByRole("alert")).toHaveTextContent("The schedules could not be read.");
    server.on("GET /api/schedules", () => json({ items: schedules, next: null }));
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await settle();
    expect(row()).toBeVisible();
  });

  it("are not for members", async () => {
    server.on("GET /api/session", () => json({ ...SESSION, role: "member" }));
    await openSchedules();
    expect(screen.queryByRole("tab", { name: "Schedules" })).toBeNull();
    expect(server.count("GET", "/api/schedules")).toBe(0);
  });

  it("lead to their runs, which the list of runs shows instead of one's own", async () => {
    const asked: string[] = [];
    server.on("GET /api/runs", ({ url }) => {
      asked.push(url.search);
      return json({ items: [], next: null });
    });
    await openSchedules("?scheduled=1&profile=daily");
    expect(asked.at(-1)).toBe("?profile=daily&scheduled=true");
    fireEvent.click(screen.getByRole("button", { name: "Of schedules" }));
    await settle();
    expect(asked.at(-1)).toBe("?profile=daily");
  });
});

describe("failed schedules in the inbox", () => {
  beforeEach(() => {
    server.failures = [
      {
        profile: "daily",
        profile_name: "Daily report",
        run: "r7",
        time: "2026-01-05T06:00:00Z",
        error: { code: "step_failed", message: "No such topic.", what_to_do: "" },
        failures: 3,
      },
    ];
  });

  async function openInbox(): Promise<void> {
    await import("./Inbox");
    await openApp("/inbox");
    await settle();
  }

  it("are told with their cause and the way to the run, and count", async () => {
    await openInbox();
    const section = screen.getByRole("region", { name: "Failed schedules" });
    expect(section).toHaveTextContent(/Daily report failed 3 times, last January 5/);
    expect(section).toHaveTextContent("No such topic.");
    expect(within(section).getByRole("link")).toHaveAttribute("href", "/runs/r7");
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent("1 waits for you");
    expect(screen.getByRole("button", { name: /^Waits for you\s*1$/ })).toBeVisible();
    expect(screen.getByRole("button", { name: /^Daily report\s*1$/ })).toBeVisible();
  });

  it("are put away, and come back where the server did not do it", async () => {
    await openInbox();
    fireEvent.click(screen.getByRole("button", { name: "Dismiss the failure of Daily report" }));
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("It was not put away.");
    server.on("POST /api/profiles/daily/schedule/dismiss", () => new Response(null, { status: 204 }));
    fireEvent.click(screen.getByRole("button", { name: "Dismiss the failure of Daily report" }));
    await settle();
    expect(screen.queryByRole("region", { name: "Failed schedules" })).toBeNull();
    expect(server.calls.at(-1)?.body).toEqual({ run: "r7" });
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent("Nothing waits for you");
  });
});

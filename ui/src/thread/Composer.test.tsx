import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import type { When } from "../api/types";
import type { RunFacts } from "../log/state";
import { Composer } from "./Composer";
import type { Sender } from "./useSender";

function senderOf(text: string): Sender & { submit: ReturnType<typeof vi.fn> } {
  return {
    text,
    setText: vi.fn(),
    sending: false,
    error: null,
    submit: vi.fn(() => Promise.resolve()),
    submitText: vi.fn(() => Promise.resolve()),
    retry: vi.fn(() => Promise.resolve()),
  };
}

function compose(text: string) {
  const sender = senderOf(text);
  render(<Composer sender={sender} label="Message" />);
  return { sender, box: screen.getByRole("textbox", { name: "Message" }) };
}

describe("UI-01 Enter that only confirms a word", () => {
  it("does not send while the word is composed", () => {
    const { sender, box } = compose("日本");
    fireEvent.keyDown(box, { key: "Enter", isComposing: true });
    expect(sender.submit).not.toHaveBeenCalled();
  });

  it("does not send when the browser ended the composition before the key", () => {
    const { sender, box } = compose("日本");
    fireEvent.compositionEnd(box);
    fireEvent.keyDown(box, { key: "Enter", isComposing: false, keyCode: 229 });
    expect(sender.submit).not.toHaveBeenCalled();
  });

  it("sends once when it is plain", () => {
    const { sender, box } = compose("日本");
    expect(fireEvent.keyDown(box, { key: "Enter", keyCode: 13 })).toBe(false);
    expect(sender.submit).toHaveBeenCalledTimes(1);
  });

  it("adds a line with Shift", () => {
    const { sender, box } = compose("日本");
    expect(fireEvent.keyDown(box, { key: "Enter", keyCode: 13, shiftKey: true })).toBe(true);
    expect(sender.submit).not.toHaveBeenCalled();
  });
});

describe("on a touch keyboard", () => {
  it("Enter adds a line, for there is no Shift", () => {
    vi.stubGlobal("matchMedia", (query: string) => ({ matches: query.includes("coarse") }));
    const { sender, box } = compose("two lines");
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    expect(sender.submit).not.toHaveBeenCalled();
  });
});

describe("while a message is sent", () => {
  it("it stays in the box and is not sent again", () => {
    const sender = { ...senderOf("once"), sending: true };
    render(<Composer sender={sender} label="Message" />);
    const box = screen.getByRole("textbox", { name: "Message" });
    fireEvent.keyDown(box, { key: "Enter", keyCode: 13 });
    expect(sender.submit).not.toHaveBeenCalled();
    expect(box).toHaveValue("once");
    expect(screen.getByRole("button", { name: "Sending" })).toBeInTheDocument();
  });
});

describe("while a run works", () => {
  const run: RunFacts = {
    ...{ id: "a1", question: "u1", below: "u1", steerable: true, coming: [], status: "working", stopping: false },
    ...{ until: null, pausedFor: [], profile: null, profileName: null, profileVersion: null, requested: "" },
    ...{ started: null, ended: null, error: null, usage: null, cost: null, seconds: null, steps: null },
  };
  const names = () => screen.getAllByRole("radio").map((one) => one.textContent);
  const write = (working: RunFacts, whenDefault: When = "next") => {
    const sender = senderOf("be short");
    render(<Composer sender={sender} label="Message" working={working} whenDefault={whenDefault} />);
    return sender;
  };

  it("offers to say it now only where the run can be steered", () => {
    write(run);
    expect(names()).toEqual(["now", "instead", "after"]);
  });

  it.each([{ steerable: false }, { stopping: true }])("offers the other two where it cannot: %o", (change) => {
    const sender = write({ ...run, ...change }, "now");
    expect(names()).toEqual(["instead", "after"]);
    fireEvent.click(screen.getByRole("button", { name: "Add" }));
    expect(sender.submit).toHaveBeenCalledWith("next");
  });

  it("begins with what the profile says and sends what is chosen", () => {
    const sender = write(run, "now");
    expect(screen.getByRole("radio", { name: "now" }).getAttribute("aria-checked")).toBe("true");
    fireEvent.click(screen.getByRole("button", { name: "Add" }));
    expect(sender.submit).toHaveBeenLastCalledWith("now");
    fireEvent.click(screen.getByRole("radio", { name: "after" }));
    fireEvent.click(screen.getByRole("button", { name: "Add" }));
    expect(sender.submit).toHaveBeenLastCalledWith("next");
  });
});

import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
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

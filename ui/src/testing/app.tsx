import { act, render, type RenderResult } from "@testing-library/react";
import { vi } from "vitest";
import { App } from "../App";
import { loadLaterTexts } from "../i18n";
import { usePreferences } from "../store/preferences";
import { useSession } from "../store/session";
import { stopView } from "../store/view";

/** The whole client at an address, as a fresh tab. The test has put a `FakeServer` in place. */
export async function openApp(path: string): Promise<RenderResult> {
  stopView();
  useSession.setState({ status: "unknown", session: null, info: null });
  usePreferences.setState({ theme: "system", listFolded: false, lastProfile: null, locale: null });
  window.history.replaceState(null, "", path);
  await loadLaterTexts();
  const result = render(<App />);
  await settle();
  return result;
}

/** Lets all that is on its way arrive: answers, streamed bytes, and the picture they are drawn in. */
export async function settle(milliseconds = 50): Promise<void> {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
}

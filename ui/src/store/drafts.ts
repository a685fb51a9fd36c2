/** What was typed and not sent, kept per thread; "new" is the home screen's. */
const PREFIX = "planwerk.draft.";

export function readDraft(place: string): string {
  try {
    return localStorage.getItem(PREFIX + place) ?? "";
  } catch {
    return "";
  }
}

export function keepDraft(place: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(PREFIX + place);
    else localStorage.setItem(PREFIX + place, text);
  } catch {
    // Without storage the draft lives as long as the page.
  }
}

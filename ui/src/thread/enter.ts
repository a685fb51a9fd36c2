import type { KeyboardEvent } from "react";

/** Enter that confirms a word of an input method is not Enter: 229 is what a browser says that ended it already. */
export function isSendingEnter(event: KeyboardEvent): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- 229 is told by keyCode alone
  const composing = event.nativeEvent.isComposing || event.keyCode === 229;
  return event.key === "Enter" && !event.shiftKey && !event.altKey && !composing && !isTouch();
}

/** On a touch keyboard Enter is the only way to a new line, and Send is under the thumb. */
function isTouch(): boolean {
  return window.matchMedia("(pointer: coarse)").matches;
}

import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach, vi } from "vitest";
import { startTexts, switchLocale } from "../i18n";

configure({ reactStrictMode: true });
await startTexts("en");

Object.defineProperty(window, "matchMedia", {
  value: (query: string) => ({ matches: query.includes("fine"), media: query, addEventListener: () => undefined }),
});
// jsdom knows the element, but not how it opens.
HTMLDialogElement.prototype.showModal = function showModal() {
  this.open = true;
};
HTMLDialogElement.prototype.close = function close() {
  this.open = false;
};
Element.prototype.scrollTo = () => undefined;
Element.prototype.scrollIntoView = () => undefined;

beforeEach(() => localStorage.clear());

afterEach(async () => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  await switchLocale("en");
});

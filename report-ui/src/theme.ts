// Light or dark: the system's choice until the reader uses the switch, and always light on paper.

import { button } from "./dom.ts";

const SYSTEM = "(prefers-color-scheme: dark)";

let chosen: "light" | "dark" | null = null;
let onPaper = false;
const listeners = new Set<() => void>();
/** Each colour is read once per theme: reading computes styles, and lines need it in every frame. */
const colours = new Map<string, string>();

function current(): "light" | "dark" {
  if (onPaper) return "light";
  return chosen ?? (matchMedia(SYSTEM).matches ? "dark" : "light");
}

function apply(): void {
  colours.clear();
  document.documentElement.dataset.theme = current();
  for (const listener of listeners) listener();
}

/** Follows the system and the printer. Called once for the page. */
export function followTheme(): void {
  apply();
  matchMedia(SYSTEM).addEventListener("change", apply);
  const paper = (is: boolean) => {
    onPaper = is;
    apply();
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
}

/** Calls the listener when colours change, until the signal aborts. */
export function onTheme(listener: () => void, signal: AbortSignal): void {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}

export function isOnPaper(): boolean {
  return onPaper;
}

export function themeButton(signal: AbortSignal): HTMLElement {
  const words = () => (current() === "dark" ? "Light" : "Dark");
  const made = button(words(), () => {
    chosen = current() === "dark" ? "light" : "dark";
    apply();
  }, { class: "quiet", title: "Switch between light and dark", "data-key": "theme" });
  onTheme(() => {
    if (!onPaper) made.textContent = words();
  }, signal);
  return made;
}

/** A colour of the style sheet, in the form that a canvas needs. */
export function cssColour(name: string): string {
  const known = colours.get(name);
  if (known !== undefined) return known;
  const colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
  colours.set(name, colour);
  return colour;
}

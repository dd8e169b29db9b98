// Light or dark: as the system has it until the switch is used, and always light on paper.

import { button } from "./dom.ts";
import type { Store } from "./store.ts";

const SYSTEM = "(prefers-color-scheme: dark)";

let chosen: "light" | "dark" | null = null;
let onPaper = false;

function current(): "light" | "dark" {
  if (onPaper) return "light";
  return chosen ?? (matchMedia(SYSTEM).matches ? "dark" : "light");
}

function apply(): void {
  document.documentElement.dataset.theme = current();
}

/** Follows the system and the printer. */
export function followTheme(store: Store): void {
  const update = () => {
    apply();
    store.tell("theme");
  };
  apply();
  matchMedia(SYSTEM).addEventListener("change", update);
  const paper = (is: boolean) => {
    onPaper = is;
    update();
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
}

export function isOnPaper(): boolean {
  return onPaper;
}

export function themeButton(store: Store): HTMLElement {
  const words = () => (current() === "dark" ? "Light" : "Dark");
  const made = button(words(), () => {
    chosen = current() === "dark" ? "light" : "dark";
    apply();
    made.textContent = words();
    store.tell("theme");
  }, { class: "quiet", title: "Switch between light and dark" });
  store.listen((change) => {
    if (change === "theme" && !onPaper) made.textContent = words();
  });
  return made;
}

/** A colour of the style sheet, as the canvas needs it. */
export function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
}

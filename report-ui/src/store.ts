// What the reader has chosen: colours, lines that are off. Nothing is kept after the page is
// closed.

import type { Page } from "./data.ts";
import { lookAt, runtimesOf, type Look } from "./look.ts";

export type Change = "lines" | "theme";

export class Store {
  readonly page: Page;
  readonly runtimes: string[];
  private readonly looks = new Map<string, Look>();
  private readonly off = new Set<string>();
  private readonly listeners: ((change: Change) => void)[] = [];

  constructor(page: Page) {
    this.page = page;
    this.runtimes = runtimesOf(page);
    this.runtimes.forEach((name, place) => this.looks.set(name, lookAt(place)));
  }

  look(runtime: string): Look {
    return this.looks.get(runtime) ?? lookAt(0);
  }

  isOn(runtime: string): boolean {
    return !this.off.has(runtime);
  }

  /** Switches one line. */
  flip(runtime: string): void {
    if (!this.off.delete(runtime)) this.off.add(runtime);
    this.tell("lines");
  }

  /** Leaves one line alone; a second time brings all back. */
  only(runtime: string): void {
    const others = this.runtimes.filter((name) => name !== runtime);
    const isAlone = this.isOn(runtime) && others.every((name) => !this.isOn(name));
    this.off.clear();
    if (!isAlone) others.forEach((name) => this.off.add(name));
    this.tell("lines");
  }

  all(): void {
    this.off.clear();
    this.tell("lines");
  }

  listen(listener: (change: Change) => void): void {
    this.listeners.push(listener);
  }

  tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }
}

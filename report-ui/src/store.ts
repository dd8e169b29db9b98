// State that all parts of the page share: the data, the look of each line, and which lines are off.

import type { Run } from "./data.generated.ts";
import { ownName, runOf, type Page } from "./data.ts";
import { Kept } from "./kept.ts";
import { lookAt, runtimesOf, type Look } from "./look.ts";

/** `there`: a new page has replaced an earlier one. `now`: the running trial has new data. */
export type Change = "lines" | "theme" | "there" | "now";

/** What the legend switches: runtimes and, if there are several, runs. */
export type Kind = "runtime" | "run";

export class Store {
  /** The runtimes' own names, each once. */
  readonly runtimes: string[];
  private readonly looks = new Map<string, Look>();
  private readonly off: Record<Kind, Set<string>>;
  private readonly listeners: ((change: Change) => void)[] = [];
  private readonly end = new AbortController();

  constructor(readonly page: Page, readonly kept = new Kept()) {
    const names = runtimesOf(page);
    this.runtimes = [...new Set(names.map((name) => ownName(page, name)))];
    const places = new Map(this.runtimes.map((name, place) => [name, place]));
    for (const name of names) {
      this.looks.set(name, lookAt(places.get(ownName(page, name)) ?? 0, this.runPlace(name)));
    }
    this.off = {
      runtime: kept.choice("runtimes that are off", new Set<string>()).value,
      run: kept.choice("runs that are off", new Set<string>()).value,
    };
  }

  /** Whether the page combines several runs. */
  get isOverlay(): boolean {
    return this.page.runs.length > 1;
  }

  look(name: string): Look {
    return this.looks.get(name) ?? lookAt(0, null);
  }

  /** The look of a runtime, for any run. */
  lookOf(runtime: string): Look {
    return lookAt(Math.max(0, this.runtimes.indexOf(runtime)), this.isOverlay ? 0 : null);
  }

  private runPlace(name: string): number | null {
    return this.isOverlay ? runOf(this.page, name) : null;
  }

  /** The run that a name belongs to. */
  run(name: string): Run | undefined {
    return this.page.runs[runOf(this.page, name)];
  }

  isOn(name: string): boolean {
    const run = this.page.runs[runOf(this.page, name)];
    return !this.off.runtime.has(ownName(this.page, name)) && !(run && this.off.run.has(run.label));
  }

  isKindOn(kind: Kind, name: string): boolean {
    return !this.off[kind].has(name);
  }

  isAllOn(): boolean {
    return this.off.runtime.size === 0 && this.off.run.size === 0;
  }

  /** Switches a runtime or a run on or off. */
  flip(kind: Kind, name: string): void {
    if (!this.off[kind].delete(name)) this.off[kind].add(name);
    this.tell("lines");
  }

  /** Shows only one; if it is already alone, shows all again. */
  only(kind: Kind, name: string): void {
    const all = kind === "runtime" ? this.runtimes : this.page.runs.map((run) => run.label);
    const others = all.filter((other) => other !== name);
    const off = this.off[kind];
    const isAlone = !off.has(name) && others.every((other) => off.has(other));
    off.clear();
    if (!isAlone) others.forEach((other) => off.add(other));
    this.tell("lines");
  }

  all(): void {
    this.off.runtime.clear();
    this.off.run.clear();
    this.tell("lines");
  }

  listen(listener: (change: Change) => void): void {
    this.listeners.push(listener);
  }

  tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }

  /** Aborted when this page is replaced. */
  get signal(): AbortSignal {
    return this.end.signal;
  }

  /** Called when another page replaces this one. */
  close(): void {
    this.end.abort();
    this.listeners.length = 0;
  }
}

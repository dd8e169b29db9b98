// Charts across loads: how a runtime's figures change as the load grows.

import type { Figure } from "./data.generated.ts";
import { headline, headlineWords, ownName, runOf, valueOf, type Case, type Group } from "./data.ts";
import { Chart, type Lines, type Spec } from "./chart.ts";
import { h } from "./dom.ts";
import * as format from "./format.ts";
import type { Store } from "./store.ts";

/** The loads of one app and one model, the lightest load first. */
interface Loads {
  app: string;
  groups: Group[];
  cases: Case[];
  /** The position of each load on the x axis. */
  x: number[];
  hasRates: boolean;
}

/** One section for each app that has several loads of one model; `null` if no app has. */
export function acrossLoads(store: Store): HTMLElement | null {
  const all = loadsOf(store);
  if (all.length === 0) return null;
  return h("section", { id: "across", "aria-labelledby": "across-title" },
    h("h2", { id: "across-title" }, "Across loads"),
    ...all.map((loads) => h("div", { class: "panel" },
      h("h3", {}, loads.app, h("span", { class: "about" }, loads.groups.map((group) => group.load).join(", "))),
      notShared(store, loads),
      h("div", { class: "charts two" }, ...specs(store, loads).map((spec) => new Chart(store, spec, null).element)))));
}

function loadsOf(store: Store): Loads[] {
  const byApp = new Map<string, Group[]>();
  for (const group of store.page.summary.groups) {
    const key = `${group.app}\n${group.model}`;
    byApp.set(key, [...(byApp.get(key) ?? []), group]);
  }
  return [...byApp.values()].map((groups) => ordered(store, groups)).filter(hasSeveral);
}

/** Whether any runtime has figures for several of these loads. Runs with one load each may have
 * none. */
function hasSeveral({ cases }: Loads): boolean {
  return new Set(cases.map((entry) => entry.runtime)).size < cases.length;
}

/** Names the loads that some of the runs do not have; `null` for a single run. */
function notShared(store: Store, { groups, cases }: Loads): HTMLElement | null {
  const { page, isOverlay } = store;
  if (!isOverlay) return null;
  const said = groups.flatMap((group) => {
    const own = new Set(cases.filter((entry) => entry.load === group.load).map((entry) => runOf(page, entry.runtime)));
    const labels = page.runs.filter((_, place) => own.has(place)).map((run) => run.label);
    return labels.length < page.runs.length ? [`${group.load} in ${format.listOf(labels)}`] : [];
  });
  return said.length > 0 ? h("p", { class: "note" }, `Not in every run: ${said.join(", ")} only.`) : null;
}

function ordered(store: Store, groups: Group[]): Loads {
  const rate = (group: Group) => {
    const rates = store.page.summary.cases
      .filter((entry) => entry.app === group.app && entry.load === group.load)
      .flatMap((entry) => valueOf(entry.figures.offered_per_second) ?? []);
    return rates.length > 0 ? Math.max(...rates) : null;
  };
  const rates = groups.map((group) => ({ group, rate: rate(group) }));
  const hasRates = new Set(rates.map((one) => one.rate)).size === rates.length && rates.every((one) => one.rate !== null);
  if (hasRates) rates.sort((a, b) => (a.rate ?? 0) - (b.rate ?? 0));
  const sorted = rates.map((one) => one.group);
  const app = groups[0]?.app ?? "";
  const names = new Set(sorted.map((group) => group.load));
  return {
    app,
    groups: sorted,
    cases: store.page.summary.cases.filter((entry) => entry.app === app && names.has(entry.load)),
    x: hasRates ? rates.map((one) => one.rate ?? 0) : sorted.map((_, place) => place + 1),
    hasRates,
  };
}

function specs(store: Store, loads: Loads): Spec[] {
  const { model } = loads.groups[0] ?? { model: "open" as const };
  const what = headlineWords(model);
  const time = (entry: Case) => entry.figures[headline(model)].p95;
  const slowest = slowestOf(store, loads, time);
  const ofTime = { yWords: format.time, yShort: (ns: number) => format.shortMicros(ns / 1e3) };
  const made = [
    spec(loads, { title: `p95 of ${what}`, about: `p95 of ${what} at each load`, ...ofTime }, time),
    spec(loads, { title: "CPU, highest", about: "the highest CPU reading at each load, in percent of the budget", yWords: format.percent, yShort: (value) => `${format.short(value)}${format.THIN}%` },
      (entry) => entry.figures.cpu_percent_max),
    spec(loads, { title: "Memory, highest", about: "the highest memory reading at each load", yWords: format.mebibytes, yShort: (value) => value === 0 ? "0" : `${format.short(value)}${format.THIN}MiB` },
      (entry) => entry.figures.memory_bytes_max, () => false, 1048576),
  ];
  if (slowest) {
    made.splice(1, 0, spec(loads, { title: `p95 without ${slowest}`, about: `p95 of ${what} at each load, without the slowest runtime`, ...ofTime }, time, (name) => ownName(store.page, name) === slowest));
  }
  return made;
}

type Own = Pick<Spec, "title" | "about" | "yWords" | "yShort">;

function spec(loads: Loads, own: Own, of: (entry: Case) => Figure, isLeftOut: (name: string) => boolean = () => false, unit = 1): Spec {
  const nameAt = (x: number) => loads.groups[loads.x.indexOf(x)]?.load ?? "";
  return {
    ...own,
    xWords: (x) => loads.hasRates ? `${nameAt(x)}: ${format.rate(x)}${format.THIN}/s` : nameAt(x),
    xShort: loads.hasRates ? format.short : nameAt,
    xLabel: loads.hasRates ? "target rate, requests a second" : "load",
    xTicks: () => loads.hasRates && loads.x.length > 6 ? loads.x.filter((_, place) => place % 2 === 0) : loads.x,
    lines: () => lines(loads, (entry) => inUnit(valueOf(of(entry)), unit), isLeftOut),
  };
}

/** Converts a value to the axis's unit, so that the axis has round steps. */
function inUnit(value: number | null, unit: number): number | null {
  return value === null ? null : value / unit;
}

function lines(loads: Loads, of: (entry: Case) => number | null, isLeftOut: (name: string) => boolean): Lines {
  const names = [...new Set(loads.cases.map((entry) => entry.runtime))].filter((name) => !isLeftOut(name));
  const made = names.map((runtime) => ({
    runtime,
    label: runtime,
    hasPoints: true,
    values: loads.groups.map((group) => {
      const entry = loads.cases.find((one) => one.runtime === runtime && one.load === group.load);
      // `undefined`: a load that this run does not have is not a gap, since nothing is missing.
      return entry ? of(entry) : undefined;
    }),
  }));
  return { x: loads.x, lines: made.filter((line) => line.values.some((value) => typeof value === "number")), instead: "No runtime has this figure." };
}

/** The name of the runtime with the highest p95 at any load; empty with fewer than three runtimes. */
function slowestOf(store: Store, loads: Loads, time: (entry: Case) => Figure): string {
  const name = (entry: Case) => ownName(store.page, entry.runtime);
  const known = loads.cases.filter((entry) => valueOf(time(entry)) !== null);
  if (new Set(known.map(name)).size < 3) return "";
  const [slowest] = known.sort((a, b) => (valueOf(time(b)) ?? 0) - (valueOf(time(a)) ?? 0));
  return slowest ? name(slowest) : "";
}

// The figures of published tables across their loads, redrawn beside those of the run.

import type { CellValue, ColumnComparison, PublishedComparison } from "./data.generated.ts";
import { Chart, type Line, type Spec } from "./chart.ts";
import { h } from "./dom.ts";
import * as format from "./format.ts";
import { named } from "./look.ts";
import type { Store } from "./store.ts";

/** One figure that several loads have. */
interface Across {
  name: string;
  unit: string;
  /** In the order of the publication. */
  loads: string[];
  rows: Row[];
}

/** A row of the publication with its values by load. */
interface Row {
  runtime: string;
  label: string;
  there: Map<string, number>;
  here: Map<string, number>;
  /** The loads that it has from a table. */
  known: Set<string>;
}

/** Two loads are a table, and no curve. */
const LOADS_MIN = 3;
/** From this ratio of the largest to the smallest value on, small ones would lie on the axis. */
const LOG_FROM = 50;

/** Two charts for each figure of several loads: as published, and as measured. `null`: there is none. */
export function acrossPublished(store: Store, found: PublishedComparison): HTMLElement | null {
  const all = figures(found).filter(({ loads }) => loads.length >= LOADS_MIN);
  if (all.length === 0) return null;
  return h("details", { class: "block published", open: true },
    h("summary", {}, "Across loads: published and here"),
    h("p", { class: "across-names" }, ...names(store, all)),
    h("div", { class: "charts two" }, ...all.flatMap((across) => [
      new Chart(store, spec(store, across, "published", (row) => row.there), null).element,
      new Chart(store, spec(store, across, "here", (row) => row.here), null).element,
    ])));
}

/** Each measured row of the charts with its colour; the others, which have none, by name. */
function names(store: Store, all: Across[]): HTMLElement[] {
  const rows = new Map(all.flatMap(({ rows }) => rows.map((row) => [row.label, colourOf(store, row.runtime)])));
  const measured = [...rows].filter(([, runtime]) => runtime);
  const others = [...rows].filter(([, runtime]) => !runtime).map(([label]) => label);
  const rest = others.length > 0 ? [h("span", {}, `thin lines, not measured here: ${others.join(", ")}`)] : [];
  return [...measured.map(([label, runtime]) => named(store.look(runtime), label)), ...rest];
}

function figures(found: PublishedComparison): Across[] {
  const all = new Map<string, Across>();
  for (const table of found.tables) {
    for (const column of table.columns.filter((one) => one.better)) {
      const key = `${column.name}, ${column.unit}`;
      const across = all.get(key) ?? { name: column.name.replaceAll("_", " "), unit: column.unit, loads: [], rows: [] };
      all.set(key, across);
      table.rows.forEach((row, place) => {
        // Where a row was cut off, its whole one counts.
        if (row.load && !row.breaking) add(across, row.load, row.runtime, row.label, column, place);
      });
    }
  }
  return [...all.values()];
}

function add(across: Across, load: string, runtime: string, label: string, column: ColumnComparison, place: number): void {
  const there = column.entries[place]?.published;
  const here = numberOf(column.entries[place]?.measured);
  if (typeof there !== "number" && here === null) return;
  if (!across.loads.includes(load)) across.loads.push(load);
  let row = across.rows.find((one) => one.runtime === runtime && one.label === label);
  if (!row) {
    row = { runtime, label, there: new Map(), here: new Map(), known: new Set() };
    across.rows.push(row);
  }
  // A later table may repeat a load under other conditions, which are no part of this curve.
  if (row.known.has(load)) return;
  row.known.add(load);
  if (typeof there === "number") row.there.set(load, there);
  if (here !== null) row.here.set(load, here);
}

function numberOf(value: CellValue | undefined): number | null {
  return value?.state === "exact" || value?.state === "at_least" ? value.value : null;
}

function spec(store: Store, across: Across, side: string, of: (row: Row) => Map<string, number>): Spec {
  const { name, unit, loads } = across;
  const words = (value: number) => `${format.significant(value)}${format.THIN}${unit}`;
  const nameAt = (x: number) => loads[x - 1] ?? "";
  const lines = (): Line[] => across.rows.map((row) => ({
    runtime: colourOf(store, row.runtime),
    label: row.label,
    hasPoints: true,
    values: loads.map((load) => of(row).get(load) ?? null),
  }));
  return {
    title: `${name} in ${unit}, ${side}`,
    about: `${name} in ${unit} at each load, ${side}`,
    xWords: nameAt,
    xShort: nameAt,
    xLabel: "load",
    xTicks: () => loads.map((_, place) => place + 1),
    yWords: words,
    yShort: (value) => format.short(value),
    yIsLog: () => isWide(across.rows.flatMap((row) => [...of(row).values()])),
    lines: () => ({
      x: loads.map((_, place) => place + 1),
      lines: lines().filter((line) => line.values.some((value) => value !== null)),
      instead: "Nothing has this figure.",
    }),
  };
}

/** Whether values need a logarithmic scale, which has no zero. */
function isWide(values: number[]): boolean {
  return values.length > 0 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > LOG_FROM;
}

/** The runtime whose colour a row has: its name in the run may have a mark. Empty: it was not measured. */
function colourOf(store: Store, runtime: string): string {
  const names = store.page.summary.cases.map((entry) => entry.runtime);
  return names.find((name) => name === runtime || name.startsWith(`${runtime} (`)) ?? "";
}

// The percentile curve: response times of the slowest requests. Each step to the right is ten times
// rarer.

import { headlineWords } from "./data.ts";
import { joined, type Lines, type Spec } from "./chart.ts";
import { toggle } from "./dom.ts";
import * as format from "./format.ts";
import type { Panel } from "./panel.ts";
import { tail, tailWords } from "./scale.ts";

export function curveChart(panel: Panel): (redraw: () => void) => Spec {
  const isLog = panel.kept("percentiles are log", true);
  const what = headlineWords(panel.group.model);
  return (redraw) => ({
    title: `Percentiles of ${what}`,
    about: `${what} at each percentile over all planned requests of the trials that count`,
    note: note(panel),
    xWords: tailWords, xLabel: "percentile", xIsLog: true, xTicks: ticks,
    yWords: format.micros, yShort: format.shortMicros,
    yIsLog: () => isLog.value,
    isTall: true,
    lines: () => lines(panel),
    controls: () => [toggle("log scale", isLog.value, (on) => {
      isLog.value = on;
      redraw();
    })],
  });
}

/** Ticks at 0 %, 50 %, 90 %, 99 % …, as far as the number of requests allows. */
function ticks(low: number, high: number): number[] {
  const all = [1, 2, 4, 10, 20, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
  const inside = all.filter((at) => at >= low && at <= high);
  // On a long scale, ticks that would touch each other on a phone are left out.
  return high > 1000 ? inside.filter((at) => ![1, 4, 20].includes(at)) : inside;
}

function lines(panel: Panel): Lines {
  const parts = panel.cases.flatMap((entry) => {
    const curve = panel.store.page.curves.find((one) => one.case === entry.index);
    if (!curve || curve.points.length === 0) return [];
    const x = curve.points.map(([percentile]) => tail(percentile, entry.counts.planned));
    const values = curve.points.map(([, us]) => us);
    return [{ ...ascending(x, values), runtime: entry.runtime }];
  });
  const made = joined(parts.map(({ x, values, runtime }) => ({ x, line: { runtime, label: runtime, values } })));
  return { ...made, instead: "No trial counts, so there is no curve." };
}

/** Removes points with equal x, because a chart needs rising x. The slowest of them stays. */
function ascending(x: number[], values: number[]): { x: number[]; values: number[] } {
  const kept = x.map((_, row) => row).filter((row) => (x[row + 1] ?? Infinity) > (x[row] ?? 0));
  return { x: kept.map((row) => x[row] ?? 0), values: kept.map((row) => values[row] ?? 0) };
}

function note(panel: Panel): string {
  const failed = panel.cases.flatMap((entry) => {
    const curve = panel.store.page.curves.find((one) => one.case === entry.index);
    if (!curve || curve.failed_from === null) return [];
    return [`${entry.runtime} from p${Number(curve.failed_from.toPrecision(6))}`];
  });
  const about = "Trials that count, merged; a request without a correct answer ranks slower than all answers.";
  return failed.length === 0 ? about : `${about} A line ends where there is no correct answer any more: ${format.listOf(failed)}.`;
}

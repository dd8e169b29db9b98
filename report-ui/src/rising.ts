// Charts of a rising load: response time against the offered rate, and where each runtime broke.

import { valueOf, type Series } from "./data.ts";
import { joined, type Lines, type Spec } from "./chart.ts";
import { toggle } from "./dom.ts";
import * as format from "./format.ts";
import type { Panel } from "./panel.ts";
import { median } from "./scale.ts";
import { STATE_WORDS } from "./shown.ts";

/** Returns null if the load does not rise. */
export function risingChart(panel: Panel): ((redraw: () => void) => Spec) | null {
  if (panel.group.model !== "open" || !rises(panel)) return null;
  const isLog = panel.kept("rise is log", true);
  const held = panel.cases.filter((entry) => entry.breaking?.trials_broken === 0).map((entry) => entry.runtime);
  const note = "Vertical marks: the rate from which on an expectation was lost for good." +
    (held.length > 0 ? ` Held to the end of the rise: ${format.listOf(held)}.` : "");
  return (redraw) => ({
    title: "Response time against target rate",
    about: "p95 of response time at each target rate of the rise, with the rate at which each runtime broke",
    note,
    xWords: (rate) => `${format.rate(rate)}${format.THIN}/s`, xLabel: "target rate, requests a second",
    xShort: format.short,
    yWords: format.micros, yShort: format.shortMicros,
    yIsLog: () => isLog.value,
    isTall: true, isWide: true,
    lines: () => lines(panel),
    controls: () => [toggle("log scale", isLog.value, (on) => {
      isLog.value = on;
      redraw();
    })],
  });
}

function rises(panel: Panel): boolean {
  if (panel.cases.some((entry) => entry.breaking)) return true;
  return panel.shown().some(({ series }) => {
    const rates = series.offered.filter((rate): rate is number => rate !== null && rate > 0);
    // A schedule's last second is often incomplete. It must not count as a change of the rate.
    const inner = rates.slice(0, -1);
    return inner.length > 5 && Math.max(...inner) > 1.5 * Math.min(...inner);
  });
}

function lines(panel: Panel): Lines {
  const made = joined(panel.shown().map(({ case: entry, series, state }) => {
    const { x, values } = upTheRise(series);
    return { x, line: { runtime: entry.runtime, label: entry.runtime + STATE_WORDS[state], values, isFaint: state === "invalid" || state === "not_finished" } };
  }));
  const marks = panel.cases.flatMap((entry) => {
    const at = entry.breaking && entry.breaking.trials_broken > 0 ? valueOf(entry.breaking.offered_per_second) : null;
    return at === null ? [] : [{ runtime: entry.runtime, at, label: `${entry.runtime} broke` }];
  });
  return { ...made, marks };
}

/** p95 by offered rate, up to the highest rate; for seconds with equal rates, the median. */
function upTheRise(series: Series): { x: number[]; values: (number | null)[] } {
  const rates = series.offered.map((rate) => rate ?? 0);
  const top = rates.indexOf(Math.max(...rates));
  const byRate = new Map<number, number[]>();
  rates.slice(0, top + 1).forEach((rate, row) => {
    const p95 = series.p95[row];
    const seen = byRate.get(rate) ?? [];
    if (p95 !== null && p95 !== undefined) seen.push(p95);
    if (rate > 0) byRate.set(rate, seen);
  });
  const x = [...byRate.keys()].sort((a, b) => a - b);
  return { x, values: x.map((rate) => median(byRate.get(rate) ?? [])) };
}

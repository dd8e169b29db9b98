// The charts over time of one group.

import { headlineWords, type Column, type Series } from "./data.ts";
import { joined, type Lines, type Spec } from "./chart.ts";
import { choice, toggle } from "./dom.ts";
import * as format from "./format.ts";
import type { Panel } from "./panel.ts";
import { sums } from "./scale.ts";
import { STATE_WORDS, type Shown } from "./shown.ts";

type Make = (redraw: () => void) => Spec;

const TIME = { xWords: format.seconds, xLabel: "seconds since the load began", xShort: format.short };

/** All charts over time, in reading order. */
export function timeSpecs(panel: Panel): Make[] {
  const always = [times(panel), throughput(panel), errors(panel), inFlight(panel), cpu(panel), memory(panel)];
  // Most stacks touch no disk and share the machine's network: then there is nothing to draw.
  if (rolesOf(panel, "disk_bytes_per_second").length > 0) always.push(disk(panel));
  if (rolesOf(panel, "network_bytes_per_second").length > 0) always.push(network(panel));
  return always;
}

/** The times of rows. A row is a step of the series, and its time is the begin of that step. */
function rowTimes(series: Series, length: number): number[] {
  return Array.from({ length }, (_, row) => row * series.step);
}

/** A line for each runtime, from a column of the series' rows. */
function perRow(panel: Panel, column: (series: Series) => Column): Lines {
  return joined(panel.shown().map((shown) => {
    const values = column(shown.series);
    return { x: rowTimes(shown.series, values.length), line: lineOf(shown, values) };
  }));
}

/** A line for each runtime, from readings of its resources. */
function perReading(panel: Panel, column: (series: Series) => Column): Lines {
  return joined(panel.shown().map((shown) => {
    const values = column(shown.series);
    return { x: shown.series.resources.at.slice(0, values.length), line: lineOf(shown, values) };
  }));
}

function lineOf(shown: Shown, values: Column) {
  return {
    runtime: shown.case.runtime,
    label: shown.case.runtime + STATE_WORDS[shown.state],
    values,
    isFaint: shown.state === "invalid" || shown.state === "not_finished",
  };
}

const STATS: [keyof Series & ("p50" | "p95" | "p99" | "max" | "mean"), string][] = [
  ["p95", "p95"], ["p50", "p50"], ["p99", "p99"], ["max", "max"], ["mean", "mean"],
];

function times(panel: Panel): Make {
  const stat = panel.oneOf("time", STATS.map(([name]) => name));
  const isLog = panel.kept("time is log", false);
  const what = headlineWords(panel.group.model);
  return (redraw) => ({
    ...TIME,
    title: `${what[0]?.toUpperCase()}${what.slice(1)} over time`,
    about: `${what} of the correct answers that ended in each second`,
    yWords: format.micros, yShort: format.shortMicros,
    yIsLog: () => isLog.value,
    lines: () => perRow(panel, (series) => series[STATS.find(([name]) => name === stat.value)?.[0] ?? "p95"]),
    controls: () => [
      choice("Show", STATS, stat.value, (value) => {
        stat.value = value;
        redraw();
      }),
      toggle("log scale", isLog.value, (on) => {
        isLog.value = on;
        redraw();
      }),
    ],
  });
}

function throughput(panel: Panel): Make {
  const isOpen = panel.group.model === "open";
  return () => ({
    ...TIME,
    title: isOpen ? "Throughput and target rate" : "Throughput",
    about: "correct answers in each second" + (isOpen ? ", with the rate of requests that were due" : ""),
    ...(isOpen ? { note: "Grey: requests due in each second." } : {}),
    yWords: (rate) => `${format.rate(rate)}${format.THIN}/s`, yShort: format.short,
    lines: () => {
      const lines = perRow(panel, (series) => series.ok);
      return isOpen ? withOffered(panel, lines) : lines;
    },
  });
}

/** Adds the offered rate as one line, since it is the same for all: that of the longest trial. */
function withOffered(panel: Panel, { x, lines }: Lines): Lines {
  const longest = panel.shown().sort((a, b) => b.series.offered.length - a.series.offered.length)[0];
  if (!longest) return { x, lines };
  const values = longest.series.offered;
  const own = lines.map((line) => ({ x, line }));
  const offered = { runtime: "", label: "target rate", values };
  return joined([{ x: rowTimes(longest.series, values.length), line: offered }, ...own]);
}

const DROPPED = "dropped";

function errors(panel: Panel): Make {
  const kinds = kindsOf(panel);
  const kind = panel.oneOf("kind", ["", ...kinds]);
  const column = (series: Series) => {
    const of: Record<string, Column> = { ...series.failed, [DROPPED]: series.dropped };
    if (kind.value) return of[kind.value] ?? series.ok.map(() => 0);
    return sums(Object.values(of));
  };
  return (redraw) => ({
    ...TIME,
    title: "Requests without a correct answer",
    about: "failed and dropped requests in each second",
    yWords: (rate) => `${format.count(rate)}${format.THIN}/s`, yShort: format.short,
    lines: () => {
      const { x, lines } = perRow(panel, column);
      const bad = lines.filter((line) => line.values.some((value) => value));
      return { x, lines: bad, instead: "Every request of these trials got its correct answer." };
    },
    controls: () => kinds.length < 2 ? [] : [
      choice("Kind", [["", "all"], ...kinds.map((name): [string, string] => [name, name])], kind.value, (value) => {
        kind.value = value;
        redraw();
      }),
    ],
  });
}

/** The kinds of failures that occur in any trial of the group. */
function kindsOf(panel: Panel): string[] {
  const found = new Set<string>();
  for (const entry of panel.cases) {
    for (const series of panel.store.page.series.filter((one) => one.case === entry.index)) {
      Object.keys(series.failed).forEach((name) => found.add(name));
      if (series.dropped.some((count) => count)) found.add(DROPPED);
    }
  }
  return [...found].sort();
}

function inFlight(panel: Panel): Make {
  return () => ({
    ...TIME,
    title: "In flight",
    about: "the highest number of requests in flight in each second",
    yWords: format.count, yShort: format.short,
    lines: () => perRow(panel, (series) => series.in_flight),
  });
}

type Resource = "cpu_percent" | "memory_mib" | "disk_bytes_per_second" | "network_bytes_per_second";

/** The whole stack's use of a resource, or one role's. */
function byRole(panel: Panel, which: Resource, spec: Omit<Spec, "lines" | "controls" | "xWords" | "xLabel">): Make {
  const roles = rolesOf(panel, which);
  const role = panel.oneOf(`role ${which}`, ["", ...roles]);
  const column = (series: Series) => {
    const of = series.resources[which];
    return role.value ? (of[role.value] ?? []) : sums(Object.values(of));
  };
  return (redraw) => ({
    ...TIME,
    ...spec,
    lines: () => ({ ...perReading(panel, column), instead: "Nothing was read." }),
    controls: () => roles.length < 2 ? [] : [
      choice("Role", [["", "whole stack"], ...roles.map((name): [string, string] => [name, name])], role.value, (value) => {
        role.value = value;
        redraw();
      }),
    ],
  });
}

function rolesOf(panel: Panel, which: Resource): string[] {
  const found = new Set<string>();
  for (const series of panel.store.page.series) {
    if (!panel.cases.some((entry) => entry.index === series.case)) continue;
    Object.keys(series.resources[which]).forEach((name) => found.add(name));
  }
  return [...found].sort();
}

function cpu(panel: Panel): Make {
  return byRole(panel, "cpu_percent", {
    title: "CPU",
    about: "CPU in percent of the whole stack's budget",
    yWords: format.percent, yShort: (value) => `${format.short(value)}${format.THIN}%`,
  });
}

function memory(panel: Panel): Make {
  return byRole(panel, "memory_mib", {
    title: "Memory",
    about: "anonymous, shared and kernel memory, without page cache",
    yWords: format.mebibytes, yShort: (value) => value === 0 ? "0" : `${format.short(value)}${format.THIN}MiB`,
  });
}

const BYTES = {
  yWords: (bytes: number) => `${format.bytes(bytes)}/s`,
  yShort: (bytes: number) => bytes === 0 ? "0" : `${format.bytes(bytes)}/s`,
};

function disk(panel: Panel): Make {
  return byRole(panel, "disk_bytes_per_second", {
    title: "Disk",
    about: "bytes read from disks and written to them in each second",
    ...BYTES,
  });
}

function network(panel: Panel): Make {
  return byRole(panel, "network_bytes_per_second", {
    title: "Network",
    about: "bytes that the containers' networks received and sent in each second",
    ...BYTES,
  });
}

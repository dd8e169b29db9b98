// The columns of a group's tables: the same sections as on the terminal.

import {
  STATS, failedTotal, headline, headlineWords, intervalOf, valueOf,
  type Cell, type Figure, type Group, type Stat, type Times,
} from "./data.ts";
import * as format from "./format.ts";
import type { Column, Field, Section } from "./tables.ts";
import { primaryFigure } from "./words.ts";

const FEW: Stat[] = ["mean", "p50", "p95", "p99", "max"];

/** All sections of a group, in reading order. */
export function sections(group: Group, cells: Cell[]): Section<Cell>[] {
  const what = headlineWords(group.model);
  const main = headline(group.model);
  const made = [times(what, STATS, (cell) => cell.figures[main], group), shots(), rates(group), cpu(), memory()];
  if (cells.some((cell) => cell.breaking && cell.breaking.trials_broken > 0)) made.splice(1, 0, breaking());
  if (cells.some((cell) => cell.counts.ok < cell.counts.planned)) {
    const ok = group.model === "open" ? "response_time_ns_ok" : "service_time_ns_ok";
    made.push(times(`${what}, ok alone`, STATS, (cell) => cell.figures[ok]));
  }
  if (group.model === "open") made.push(times("service time", FEW, (cell) => cell.figures.service_time_ns));
  made.push(details(group), ...byRole(cells));
  return made;
}

function figureField(of: Figure | undefined, words: (value: number) => string): Field {
  const text = format.figure(of, words);
  if (of?.state === "failed") return { text, key: Infinity, tone: "bad" };
  const key = valueOf(of);
  return key === null ? { text, key, tone: "faint" } : { text, key };
}

function figure(title: string, of: (cell: Cell) => Figure | undefined, words: (value: number) => string): Column<Cell> {
  return { title, field: (cell) => figureField(of(cell), words) };
}

function number(title: string, of: (cell: Cell) => number, isBad = false): Column<Cell> {
  return {
    title,
    field: (cell) => {
      const key = of(cell);
      return { text: format.count(key), key, ...(isBad && key > 0 ? { tone: "bad" as const } : {}) };
    },
  };
}

function times(title: string, stats: readonly Stat[], of: (cell: Cell) => Times, group?: Group): Section<Cell> {
  const columns = stats.map((stat) => {
    const column = figure(stat, (cell) => of(cell)[stat], format.time);
    if (!group) return column;
    const field = (cell: Cell) => {
      const made = column.field(cell);
      const isPrimary = of(cell)[stat] === primaryFigure(group, cell.figures);
      return isPrimary && !made.tone ? { ...made, tone: "strong" as const } : made;
    };
    return { title: column.title, field };
  });
  return { title, columns };
}

function shots(): Section<Cell> {
  return {
    title: "shots",
    columns: [
      figure("ok %", (cell) => cell.figures.ok_share, format.share),
      number("ok", (cell) => cell.counts.ok),
      number("failed", (cell) => failedTotal(cell.counts), true),
      number("dropped", (cell) => cell.counts.dropped, true),
      number("in flight", (cell) => cell.counts.in_flight_max),
      number("planned", (cell) => cell.counts.planned),
      number("trials", (cell) => cell.trials_counted),
    ],
  };
}

function rates(group: Group): Section<Cell> {
  const offered = figure("offered /s", (cell) => cell.figures.offered_per_second, format.rate);
  return {
    title: "rates",
    columns: [
      ...(group.model === "open" ? [offered] : []),
      figure("throughput /s", (cell) => cell.figures.throughput_per_second, format.rate),
      { title: "95 % interval", field: (cell) => intervalField(cell.figures.throughput_per_second, format.rate) },
      figure("received /s", (cell) => cell.figures.received_bytes_per_second, format.bytes),
      figure("sent /s", (cell) => cell.figures.sent_bytes_per_second, format.bytes),
    ],
  };
}

function intervalField(of: Figure, words: (value: number) => string): Field {
  const interval = intervalOf(of);
  if (!interval) return { text: format.NONE, key: null, tone: "faint" };
  return { text: format.interval(interval, words), key: interval[1] - interval[0] };
}

function cpu(): Section<Cell> {
  return {
    title: "CPU % of the budget",
    columns: [
      figure("median", (cell) => cell.figures.cpu_percent_median, format.significant),
      figure("max", (cell) => cell.figures.cpu_percent_max, format.significant),
      figure("CPU cost", (cell) => cell.figures.cpu_cost_us, format.micros),
      { title: "95 % interval", field: (cell) => intervalField(cell.figures.cpu_cost_us, format.micros) },
    ],
  };
}

function memory(): Section<Cell> {
  return {
    title: "memory",
    columns: [
      figure("median", (cell) => cell.figures.memory_bytes_median, format.bytes),
      figure("max", (cell) => cell.figures.memory_bytes_max, format.bytes),
    ],
  };
}

function breaking(): Section<Cell> {
  const broken = (cell: Cell) => (cell.breaking && cell.breaking.trials_broken > 0 ? cell.breaking : null);
  const rate: Column<Cell> = {
    title: "broke at /s",
    field: (cell) => cell.breaking && !broken(cell)
      ? { text: "held", key: Number.MAX_VALUE }
      : figureField(broken(cell)?.offered_per_second, format.rate),
  };
  const columns = FEW.map((stat) => figure(stat, (cell) => broken(cell)?.response_time_ns[stat], format.time));
  return { title: "response time up to the breaking point", columns: [rate, ...columns] };
}

function details(group: Group): Section<Cell> {
  const open = [
    figure("connection wait p99", (cell) => cell.figures.connection_wait_ns_p99, format.time),
    figure("lateness p99", (cell) => cell.figures.lateness_ns_p99, format.time),
  ];
  return {
    title: "details",
    columns: [
      ...(group.model === "open" ? open : []),
      figure("first answer", (cell) => cell.figures.first_answer_ns, format.time),
      figure("first request", (cell) => cell.figures.first_request_ns, format.time),
      watched(number("restarts", (cell) => cell.counts.restarts, true)),
      watched(number("context switches", (cell) => cell.counts.context_switches)),
    ],
  };
}

/** A counter of the monitor: zero readings are no zero. */
function watched(column: Column<Cell>): Column<Cell> {
  const none: Field = { text: format.NONE, key: null, tone: "faint" };
  const isRead = (cell: Cell) => cell.figures.cpu_percent_median.state !== "none";
  return { title: column.title, field: (cell) => (isRead(cell) ? column.field(cell) : none) };
}

/** One section a role, where a stack has more than one. */
function byRole(cells: Cell[]): Section<Cell>[] {
  const roles = [...new Set(cells.flatMap((cell) => Object.keys(cell.figures.roles)))].sort();
  if (roles.length < 2) return [];
  return roles.map((role) => ({
    title: `role ${role}`,
    columns: [
      figure("CPU %", (cell) => cell.figures.roles[role]?.cpu_percent_median, format.significant),
      figure("CPU % max", (cell) => cell.figures.roles[role]?.cpu_percent_max, format.significant),
      figure("CPU cost", (cell) => cell.figures.roles[role]?.cpu_cost_us, format.micros),
      figure("memory", (cell) => cell.figures.roles[role]?.memory_bytes_median, format.bytes),
      figure("memory max", (cell) => cell.figures.roles[role]?.memory_bytes_max, format.bytes),
    ],
  }));
}

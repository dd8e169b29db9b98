// The columns of a group's tables, in the same sections as on the terminal.

import type { Figure, TimeFigures } from "./data.generated.ts";
import {
  STATS, failedTotal, headline, headlineWords, intervalOf, valueOf,
  type Case, type Group, type Stat,
} from "./data.ts";
import * as format from "./format.ts";
import type { Column, Field, Section } from "./tables.ts";
import { primaryFigure } from "./words.ts";

const FEW: Stat[] = ["mean", "p50", "p95", "p99", "max"];

/** All sections of a group, in reading order. */
export function sections(group: Group, cases: Case[]): Section<Case>[] {
  const what = headlineWords(group.model);
  const main = headline(group.model);
  const made = [times(what, STATS, (entry) => entry.figures[main], group), requests(), rates(group), cpu(), memory()];
  if (cases.some((entry) => entry.breaking && entry.breaking.trials_broken > 0)) made.splice(1, 0, breaking());
  if (cases.some((entry) => entry.counts.ok < entry.counts.planned)) {
    const ok = group.model === "open" ? "response_time_ns_ok" : "service_time_ns_ok";
    made.push(times(`${what}, ok alone`, STATS, (entry) => entry.figures[ok]));
  }
  if (group.model === "open") made.push(times("service time", FEW, (entry) => entry.figures.service_time_ns));
  made.push(details(group), ...byRole(cases));
  return made;
}

function figureField(of: Figure | undefined, words: (value: number) => string): Field {
  const text = format.figure(of, words);
  if (of?.state === "failed") return { text, key: Infinity, tone: "bad" };
  const key = valueOf(of);
  return key === null ? { text, key, tone: "faint" } : { text, key };
}

function figure(title: string, of: (entry: Case) => Figure | undefined, words: (value: number) => string): Column<Case> {
  return { title, field: (entry) => figureField(of(entry), words) };
}

function number(title: string, of: (entry: Case) => number, isBad = false): Column<Case> {
  return {
    title,
    field: (entry) => {
      const key = of(entry);
      return { text: format.count(key), key, ...(isBad && key > 0 ? { tone: "bad" as const } : {}) };
    },
  };
}

function times(title: string, stats: readonly Stat[], of: (entry: Case) => TimeFigures, group?: Group): Section<Case> {
  const columns = stats.map((stat) => {
    const column = figure(stat, (entry) => of(entry)[stat], format.time);
    if (!group) return column;
    const field = (entry: Case) => {
      const made = marked(column.field(entry), stat, entry);
      const isPrimary = of(entry)[stat] === primaryFigure(group, entry.figures);
      return isPrimary && !made.tone ? { ...made, tone: "strong" as const } : made;
    };
    return { title: column.title, field };
  });
  return { title, columns };
}

/** Marks a time of which the generator's own delay makes, or may make, much. */
function marked(field: Field, stat: Stat, { figures }: Case): Field {
  const mark = figures.lag_marks?.find((one) => one.figure === stat);
  if (!mark) return field;
  const [all, lag] = [mark.time_ns, mark.time_ns - mark.without_lag_ns].map(format.time);
  const title = mark.may
    ? `${stat} ${all}, of which up to ${lag} may be the generator's own delay: a Unix socket does not say when an answer arrived`
    : `${stat} ${all}, of which ${lag} is the generator's own delay`;
  return { ...field, text: `${field.text}†`, tone: "warning", title };
}

function requests(): Section<Case> {
  return {
    title: "requests",
    columns: [
      figure("ok %", (entry) => entry.figures.ok_share, format.share),
      number("ok", (entry) => entry.counts.ok),
      number("failed", (entry) => failedTotal(entry.counts), true),
      number("dropped", (entry) => entry.counts.dropped, true),
      number("in flight", (entry) => entry.counts.in_flight_max),
      number("planned", (entry) => entry.counts.planned),
      number("trials", (entry) => entry.trials_counted),
    ],
  };
}

function rates(group: Group): Section<Case> {
  const offered = figure("target rate /s", (entry) => entry.figures.offered_per_second, format.rate);
  return {
    title: "rates",
    columns: [
      ...(group.model === "open" ? [offered] : []),
      figure("throughput /s", (entry) => entry.figures.throughput_per_second, format.rate),
      { title: "95 % interval", field: (entry) => intervalField(entry.figures.throughput_per_second, format.rate) },
      figure("received /s", (entry) => entry.figures.received_bytes_per_second, format.bytes),
      figure("sent /s", (entry) => entry.figures.sent_bytes_per_second, format.bytes),
    ],
  };
}

function intervalField(of: Figure, words: (value: number) => string): Field {
  const interval = intervalOf(of);
  if (!interval) return { text: format.NONE, key: null, tone: "faint" };
  return { text: format.interval(interval, words), key: interval[1] - interval[0] };
}

function cpu(): Section<Case> {
  return {
    title: "CPU % of the budget",
    columns: [
      figure("median", (entry) => entry.figures.cpu_percent_median, format.significant),
      figure("max", (entry) => entry.figures.cpu_percent_max, format.significant),
      figure("CPU/request", (entry) => entry.figures.cpu_cost_us, format.micros),
      { title: "95 % interval", field: (entry) => intervalField(entry.figures.cpu_cost_us, format.micros) },
    ],
  };
}

function memory(): Section<Case> {
  return {
    title: "memory",
    columns: [
      figure("median", (entry) => entry.figures.memory_bytes_median, format.bytes),
      figure("max", (entry) => entry.figures.memory_bytes_max, format.bytes),
    ],
  };
}

function breaking(): Section<Case> {
  const broken = (entry: Case) => (entry.breaking && entry.breaking.trials_broken > 0 ? entry.breaking : null);
  const rate: Column<Case> = {
    title: "broke at /s",
    field: (entry) => entry.breaking && !broken(entry)
      ? { text: "held", key: Number.MAX_VALUE }
      : figureField(broken(entry)?.offered_per_second, format.rate),
  };
  const columns = FEW.map((stat) => figure(stat, (entry) => broken(entry)?.response_time_ns[stat], format.time));
  return { title: "response time up to the breaking point", columns: [rate, ...columns] };
}

function details(group: Group): Section<Case> {
  const open = [
    figure("connection wait p99", (entry) => entry.figures.connection_wait_ns_p99, format.time),
    figure("schedule lag p99", (entry) => entry.figures.schedule_lag_ns_p99, format.time),
  ];
  return {
    title: "details",
    columns: [
      ...(group.model === "open" ? open : []),
      figure("first answer", (entry) => entry.figures.first_answer_ns, format.time),
      figure("first request", (entry) => entry.figures.first_request_ns, format.time),
      watched(number("restarts", (entry) => entry.counts.restarts, true)),
      watched(number("context switches", (entry) => entry.counts.context_switches)),
    ],
  };
}

/** A column of a counter that the monitor reads. Without readings it shows nothing, not zero. */
function watched(column: Column<Case>): Column<Case> {
  const none: Field = { text: format.NONE, key: null, tone: "faint" };
  const isRead = (entry: Case) => entry.figures.cpu_percent_median.state !== "none";
  return { title: column.title, field: (entry) => (isRead(entry) ? column.field(entry) : none) };
}

/** One section for each role, if a stack has several roles. */
function byRole(cases: Case[]): Section<Case>[] {
  const roles = [...new Set(cases.flatMap((entry) => Object.keys(entry.figures.roles)))].sort();
  if (roles.length < 2) return [];
  return roles.map((role) => ({
    title: `role ${role}`,
    columns: [
      figure("CPU %", (entry) => entry.figures.roles[role]?.cpu_percent_median, format.significant),
      figure("CPU % max", (entry) => entry.figures.roles[role]?.cpu_percent_max, format.significant),
      figure("CPU/request", (entry) => entry.figures.roles[role]?.cpu_cost_us, format.micros),
      figure("memory", (entry) => entry.figures.roles[role]?.memory_bytes_median, format.bytes),
      figure("memory max", (entry) => entry.figures.roles[role]?.memory_bytes_max, format.bytes),
    ],
  }));
}

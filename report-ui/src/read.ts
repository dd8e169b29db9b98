// Reads the page's data. A value that is missing or of the wrong type becomes empty and is
// reported. So the rest of the page can rely on the types.

import type * as written from "./data.generated.ts";
import type {
  CaseCounts, Curve, Figure, Figures, LoadModel, OverlaidRuntime, Primary, Progress, Relation, Run,
  RunState, TimeFigures,
} from "./data.generated.ts";
import {
  ROLE_SINGLES, SINGLES, STATS, TIMES, runOf,
  type Breaking, type Case, type Comparison, type Evidence, type Group, type Observed, type Page,
  type Reason, type RuntimeEvidence, type Series, type Served, type Summary, type Trial,
  type TrialEvidence, type Why,
} from "./data.ts";
import { toList, toOverRuns, type OverRuns, type RunList } from "./history.ts";
import { toPublished } from "./read_published.ts";
import { toVersions } from "./read_versions.ts";
import {
  address, column, columns, isNumber, list, number, numbers, pairs, record, records, sentences, text,
  textRecord, texts, type Raw,
} from "./raw.ts";
import { renamed } from "./renamed.ts";

export interface Read {
  page: Page;
  /** What is missing, in words. */
  problems: string[];
}

/** The formats that can be read. Format 1 has sentences where format 2 has facts. */
const FORMATS = [1, 2];

/** What the program sends: a report, the list of runs, each row over the runs, or the event `now`. */
type Sent = written.Page & written.List & written.OverRuns & written.LiveUpdate;

/** What the data may be: a report, the list of runs, or each row over the runs. */
export type Data =
  | ({ kind: "report" } & Read)
  | { kind: "list"; list: RunList; problems: string[] }
  | { kind: "rows"; rows: OverRuns; problems: string[] };

/** Reads the text of the page's data element, or the data of an event. */
export function readData(text: string): Data {
  const problems: string[] = [];
  const raw = parse(text, problems);
  if (Array.isArray(raw.history)) return { kind: "list", list: toList(raw), problems };
  if (Array.isArray(raw.rows)) return { kind: "rows", rows: toOverRuns(raw), problems };
  const page = toPage(raw);
  if (problems.length === 0) problems.push(...missing(page));
  return { kind: "report", page, problems };
}

/** The same where a report is expected: any other data gives an empty page. */
export function readPage(text: string): Read {
  const data = readData(text);
  return data.kind === "report" ? data : { page: toPage({}), problems: data.problems };
}

/** Reads the event `now`: the run's progress and the running trial. */
export function readNow(text: string): { progress: Progress | null; series: Series | null } {
  const raw = parse(text, []);
  return {
    progress: raw.progress ? toProgress(record<Progress>(raw.progress)) : null,
    series: raw.series ? toSeries(record<written.Series>(raw.series)) : null,
  };
}

function parse(text: string, problems: string[]): Raw<Sent> {
  const trimmed = text.trim();
  // Does not contain the whole placeholder, because it may occur in the page only once.
  if (trimmed === "" || trimmed.startsWith("__")) {
    problems.push("This page holds no data: it is the empty form that `stampede report` fills in.");
    return {};
  }
  try {
    const raw = record<Sent>(renamed(JSON.parse(trimmed)));
    if (!FORMATS.some((format) => raw.format === format)) {
      const format = String(raw.format ?? "unknown");
      problems.push(`The data is of format ${format}; this page reads format ${FORMATS.join(" and ")}.`);
    }
    return raw;
  } catch (error) {
    problems.push(`The data cannot be read: ${error instanceof Error ? error.message : error}.`);
    return {};
  }
}

function missing(page: Page): string[] {
  const { summary, series, runs } = page;
  const problems: string[] = [];
  const isUnderWay = runs.some((run) => run.state === "under_way");
  if (summary.cases.length === 0) problems.push("This run is empty: nothing was measured.");
  else if (series.length === 0 && !isUnderWay) {
    problems.push("There is no trial with a load, so there are no charts over time.");
  }
  runs.forEach((run, place) => {
    const cases = summary.cases.filter((entry) => runOf(page, entry.runtime) === place);
    problems.push(...lost(page, run, cases.reduce((sum, entry) => sum + entry.trials_missing, 0)));
  });
  return problems;
}

/** Says which trials of a run are missing. A run that was cut off is reported even if none is. */
function lost(page: Page, run: Run, trials: number): string[] {
  const isCut = run.state === "cut_off";
  if (run.state === "under_way" || (trials === 0 && !isCut)) return [];
  const name = run.label ? `Run ${run.label}` : "The run";
  const begin = isCut ? `${name} was ended early` : "";
  const missing = trials === 0 ? "" : trials === 1
    ? "one trial of the plan is missing" : `${trials} trials of the plan are missing`;
  const own = page.series.filter((one) => one.unfinished && page.runs[runOfSeries(page, one)] === run);
  const unfinished = own.map((one) => {
    const entry = page.summary.cases[one.case];
    return `Trial ${one.trial}${entry ? ` (${entry.runtime}, ${entry.app} · ${entry.load})` : ""} was not finished: it is drawn faintly and counts for nothing.`;
  });
  const whole = [begin, missing].filter(Boolean).join(": ");
  return [[`${whole[0]?.toUpperCase() ?? ""}${whole.slice(1)}.`, ...unfinished, "What is there is shown."].join(" ")];
}

function runOfSeries(page: Page, series: Series): number {
  return runOf(page, page.summary.cases[series.case]?.runtime ?? "");
}

function toPage(raw: Raw<written.Page>): Page {
  const summary = toSummary(record<written.Summary>(raw.summary));
  return {
    stampede: text(raw.stampede),
    runs: toRuns(raw, summary),
    names: new Map(Object.entries(record(raw.names)).map(([name, of]) => [name, toNamed(record<OverlaidRuntime>(of))])),
    summary,
    headlines: records<written.Headline>(raw.headlines).map((one) => ({
      app: text(one.app), text: text(one.text), facts: texts(one.facts),
    })),
    versions: raw.versions ? toVersions(record<written.ComparedVersions>(raw.versions)) : null,
    series: records<written.Series>(raw.series).map(toSeries),
    curves: records<Curve>(raw.curves).map(toCurve),
    evidence: toEvidence(record<written.Evidence>(raw.evidence)),
    downloads: records<written.Download>(raw.downloads).map((one) => ({
      name: text(one.name), type: text(one.type), text: text(one.text),
    })),
    progress: raw.progress ? toProgress(record<Progress>(raw.progress)) : null,
    served: raw.served ? toServed(record<written.ServerLinks>(raw.served)) : null,
  };
}

/** The runs; never empty. If the data has none, one is made from the summary. */
function toRuns(raw: Raw<written.Page>, summary: Summary): Run[] {
  const all = records<Run>(raw.runs).map(toRun);
  if (all.length > 0) return all;
  return [{ ...toRun(record<Run>(raw.evidence)), run: summary.run, started_at: summary.started_at,
    stampede: summary.stampede, seed: summary.seed, rounds: summary.rounds }];
}

function toRun(raw: Raw<Run>): Run {
  return {
    label: text(raw.label), run: text(raw.run), started_at: text(raw.started_at),
    stampede: text(raw.stampede), seed: number(raw.seed), rounds: number(raw.rounds),
    state: state(raw.state), runtimes: texts(raw.runtimes),
    plan_text: text(raw.plan_text), flags: texts(raw.flags), command: text(raw.command),
    machine: pairs(raw.machine),
  };
}

function state(raw: unknown): RunState {
  return raw === "under_way" || raw === "cut_off" ? raw : "ended";
}

function toNamed(raw: Raw<OverlaidRuntime>): OverlaidRuntime {
  return { runtime: text(raw.runtime), run: number(raw.run) };
}

function toProgress(raw: Raw<Progress>): Progress {
  const now = record<written.CurrentTrial>(raw.under_way);
  return {
    ended: number(raw.ended), planned: number(raw.planned),
    under_way: raw.under_way
      ? { trial: number(now.trial), case: isNumber(now.case) ? now.case : -1, seconds: number(now.seconds) }
      : null,
  };
}

function toServed(raw: Raw<written.ServerLinks>): Served {
  return { home: address(raw.home), events: address(raw.events) };
}

function toSummary(raw: Raw<written.Summary>): Summary {
  const cases = records<written.CaseSummary>(raw.cases).map(toCase);
  const groups = records<written.Group>(raw.groups).map(toGroup);
  return {
    run: text(raw.run),
    stampede: text(raw.stampede),
    started_at: text(raw.started_at),
    seed: number(raw.seed),
    rounds: number(raw.rounds),
    notices: sentences(raw.notices),
    groups: groups.length > 0 ? groups : groupsOf(cases),
    cases,
    published: raw.published ? toPublished(record<written.PublishedComparison>(raw.published)) : null,
  };
}

/** Groups made from the cases, for a run without groups: every case must have a place. */
function groupsOf(cases: Case[]): Group[] {
  const found = new Map<string, Group>();
  for (const { app, load, model } of cases) {
    found.set(`${app}\n${load}`, toGroup({ app, load, model }));
  }
  return [...found.values()];
}

function toGroup(raw: Raw<written.Group>): Group {
  return {
    app: text(raw.app),
    load: text(raw.load),
    load_text: text(raw.load_text),
    model: model(raw.model),
    primary: primary(raw.primary, model(raw.model)),
    sentence: text(raw.sentence),
    baseline: typeof raw.baseline === "string" ? raw.baseline : null,
    comparisons: records<written.Comparison>(raw.comparisons).map(toComparison),
  };
}

function model(raw: unknown): LoadModel {
  return raw === "closed" ? "closed" : "open";
}

function primary(raw: unknown, model: LoadModel): Primary {
  const all: Primary[] = ["response_time_p95", "response_time_p50", "response_time_mean", "throughput"];
  return all.find((one) => one === raw) ?? (model === "open" ? "response_time_p95" : "throughput");
}

/** `judged`: the relation's name in older runs. */
function toComparison(raw: Raw<written.Comparison> & { judged?: unknown }): Comparison {
  const ratio = record<written.Estimate>(raw.ratio);
  return {
    runtime: text(raw.runtime),
    ratio: isNumber(ratio.value) ? { value: ratio.value, interval: interval(ratio.interval) } : null,
    relation: relation(raw.relation ?? raw.judged),
    why_not: sentences([raw.why_not])[0] ?? "",
  };
}

/** Older runs use other words for the same relation. */
function relation(raw: unknown): Relation | null {
  switch (raw) {
    case "higher": case "larger": return "higher";
    case "lower": case "smaller": return "lower";
    case "equivalent": case "same": return "equivalent";
    case "inconclusive": case "not_told_apart": return "inconclusive";
    case "too_few_rounds": case "hint": return "too_few_rounds";
    default: return null;
  }
}

function toAgent(raw: Raw<written.AgentFigures>): written.AgentFigures {
  const known = (value: unknown) => isNumber(value) ? value : null;
  return {
    name: text(raw.name),
    planned: number(raw.planned), ok: number(raw.ok), failed: number(raw.failed), dropped: number(raw.dropped),
    service_time_p50_ns: known(raw.service_time_p50_ns), service_time_p95_ns: known(raw.service_time_p95_ns),
    service_time_p99_ns: known(raw.service_time_p99_ns), start_error_ns: known(raw.start_error_ns),
    busy_share: number(raw.busy_share), lost: number(raw.lost),
  };
}

/** `letters`: the name of `significance_groups` in older runs. */
function toCase(raw: Raw<written.CaseSummary> & { letters?: unknown }, index: number): Case {
  return {
    index,
    runtime: text(raw.runtime), app: text(raw.app), load: text(raw.load),
    is_noise: raw.is_noise === true,
    model: model(raw.model),
    verdict: text(raw.verdict),
    reasons: records<written.CaseReason>(raw.reasons).map(toReason),
    why: records<written.LimitingCause>(raw.why).map(toWhy),
    not_comparable: sentences(raw.not_comparable), asked: sentences(raw.asked), forced: sentences(raw.forced), kept: texts(raw.kept), differs: texts(raw.differs),
    agents: records<written.AgentFigures>(raw.agents).map(toAgent),
    provider: text(raw.provider), title: text(raw.title), mode: text(raw.mode),
    versions: textRecord(raw.versions),
    budget_cpus: number(raw.budget_cpus),
    budget_memory_bytes: number(raw.budget_memory_bytes),
    budget_unequal: raw.budget_unequal === true,
    timeout_ns: number(raw.timeout_ns),
    stretched_max: number(raw.stretched_max) || 1,
    significance_groups: text(raw.significance_groups ?? raw.letters),
    trials_counted: number(raw.trials_counted),
    trials_invalid: number(raw.trials_invalid),
    trials_missing: number(raw.trials_missing),
    counts: toCounts(raw.counts),
    figures: toFigures(raw),
    trials: records<written.TrialSummary>(raw.trials).map(toTrial),
    expectations: records<written.ExpectationValidity>(raw.expectations).map((one) => ({
      text: text(one.text), outcome: text(one.outcome), figure: sentences([one.figure])[0] ?? "",
    })),
    breaking: raw.breaking ? toBreaking(record<written.Breaking>(raw.breaking)) : null,
  };
}

function toReason(raw: Raw<written.CaseReason>): Reason {
  const judged = raw.judged === "suspect" || raw.judged === "invalid" ? raw.judged : null;
  return { judged, trials: numbers(raw.trials), text: text(raw.text) };
}

function toWhy(raw: Raw<written.LimitingCause>): Why {
  return { cause: text(raw.cause), trials: numbers(raw.trials), text: text(raw.text), evidence: texts(raw.evidence) };
}

function toBreaking(raw: Raw<written.Breaking>): Breaking {
  return {
    trials: number(raw.trials),
    trials_broken: number(raw.trials_broken),
    seconds: numbers(raw.seconds),
    offered_per_second: figure(raw.offered_per_second),
    lost: texts(raw.lost),
    response_time_ns: times(raw.response_time_ns),
  };
}

function toTrial(raw: Raw<written.TrialSummary>): Trial {
  return {
    number: number(raw.number), round: number(raw.round),
    verdict: text(raw.verdict), reasons: sentences(raw.reasons),
    why: records<written.LimitingCause>(raw.why).map(toWhy),
    counts: toCounts(raw.counts), figures: toFigures(raw),
  };
}

function toCounts(from: unknown): CaseCounts {
  const raw = record<CaseCounts>(from);
  const failed = Object.entries(record(raw.failed)).map(([kind, count]) => [kind, number(count)]);
  return {
    planned: number(raw.planned), ok: number(raw.ok),
    failed: Object.fromEntries(failed) as Record<string, number>,
    dropped: number(raw.dropped), restarts: number(raw.restarts),
    context_switches: number(raw.context_switches), in_flight_max: number(raw.in_flight_max),
  };
}

function toFigures(raw: Raw<Figures>): Figures {
  const sets = TIMES.map((name) => [name, times(raw[name])]);
  const singles = SINGLES.map((name) => [name, figure(raw[name])]);
  const roles = Object.entries(record(raw.roles)).map(([role, of]) => {
    const figures = record<written.RoleFigures>(of);
    return [role, Object.fromEntries(ROLE_SINGLES.map((name) => [name, figure(figures[name])]))];
  });
  // Not as `Figures`: then a name that the lists lack would not be missed.
  const read = Object.fromEntries([...sets, ...singles, ["roles", Object.fromEntries(roles)]]) as
    Record<(typeof TIMES)[number], TimeFigures> & Record<(typeof SINGLES)[number], Figure> &
    { roles: Record<string, Record<(typeof ROLE_SINGLES)[number], Figure>> };
  return { ...read, lag_marks: records<written.LagMark>(raw.lag_marks).flatMap(toLagMark) };
}

function toLagMark(raw: Raw<written.LagMark>): written.LagMark[] {
  const figure = STATS.find((stat) => stat === raw.figure);
  if (!figure) return [];
  return [{ figure, time_ns: number(raw.time_ns), without_lag_ns: number(raw.without_lag_ns), may: raw.may === true }];
}

function times(from: unknown): TimeFigures {
  const raw = record<TimeFigures>(from);
  return Object.fromEntries(STATS.map((stat) => [stat, figure(raw[stat])])) as Record<(typeof STATS)[number], Figure>;
}

function figure(from: unknown): Figure {
  const raw = record<Figure>(from);
  if (raw.state === "exact" || raw.state === "at_least") {
    if (!isNumber(raw.value)) return { state: "none" };
    const { state, value } = raw as { state: "exact" | "at_least"; value: number };
    return { state, value, interval: interval(raw.interval), trials: number(raw.trials) };
  }
  return { state: raw.state === "failed" || raw.state === "too_few" ? raw.state : "none" };
}

function interval(raw: unknown): [number, number] | null {
  if (!Array.isArray(raw) || !isNumber(raw[0]) || !isNumber(raw[1])) return null;
  return [raw[0], raw[1]];
}

function toSeries(raw: Raw<written.Series>): Series {
  const resources = record<written.Resources>(raw.resources);
  return {
    case: isNumber(raw.case) ? raw.case : -1,
    trial: number(raw.trial),
    round: number(raw.round),
    unfinished: raw.unfinished === true,
    step: Math.max(number(raw.step), 0) || 1,
    mean: column(raw.mean), p50: column(raw.p50), p95: column(raw.p95), p99: column(raw.p99),
    max: column(raw.max),
    offered: column(raw.offered), ok: column(raw.ok), dropped: column(raw.dropped),
    failed: columns(raw.failed),
    in_flight: column(raw.in_flight),
    resources: {
      at: numbers(resources.at),
      cpu_percent: columns(resources.cpu_percent),
      memory_mib: columns(resources.memory_mib),
      disk_bytes_per_second: columns(resources.disk_bytes_per_second),
      network_bytes_per_second: columns(resources.network_bytes_per_second),
    },
  };
}

function toCurve(raw: Raw<Curve>): Curve {
  const points = list(raw.points).map((pair) => list(pair));
  return {
    case: isNumber(raw.case) ? raw.case : -1,
    points: points.filter((pair): pair is [number, number] => isNumber(pair[0]) && isNumber(pair[1])),
    failed_from: isNumber(raw.failed_from) ? raw.failed_from : null,
  };
}

function toEvidence(raw: Raw<written.Evidence>): Evidence {
  return {
    runtimes: records<written.RuntimeEvidence>(raw.runtimes).map(toRuntime),
    cases: records<written.CaseEvidence>(raw.cases).map((one) => ({ case: number(one.case), figures: pairs(one.figures) })),
    trials: records<written.TrialEvidence>(raw.trials).map(toTrialEvidence),
  };
}

function toRuntime(raw: Raw<written.RuntimeEvidence>): RuntimeEvidence {
  return {
    run: number(raw.run), name: text(raw.name), title: text(raw.title), mode: text(raw.mode),
    versions: textRecord(raw.versions), settings: textRecord(raw.settings),
    commands: texts(raw.commands), files: pairs(raw.files),
    observed: raw.observed ? toObserved(record<written.ObservedEvidence>(raw.observed)) : null,
    isolation: pairs(raw.isolation),
  };
}

function toObserved(raw: Raw<written.ObservedEvidence>): Observed {
  return {
    php_version: text(raw.php_version), sapi: text(raw.sapi),
    thread_safe: raw.thread_safe === true, opcache: raw.opcache === true, jit: raw.jit === true,
    workers: number(raw.workers),
    extensions: texts(raw.extensions), ini: textRecord(raw.ini), notices: sentences(raw.notices),
  };
}

function toTrialEvidence(raw: Raw<written.TrialEvidence>): TrialEvidence {
  const phases = list(raw.phases).map((phase) => list(phase));
  return {
    run: number(raw.run), number: number(raw.number), round: number(raw.round),
    case: isNumber(raw.case) ? raw.case : -1,
    verdict: text(raw.verdict), reasons: sentences(raw.reasons), notes: sentences(raw.notes),
    phases: phases.map(([name, begin, end]) => ({
      name: text(name), begin: number(begin), end: number(end),
    })),
    figures: pairs(raw.figures), errors: pairs(raw.errors), log_lines: pairs(raw.log_lines),
  };
}

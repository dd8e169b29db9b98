// The types of the page's data. The reader (`read.ts`) guarantees them, so the page may trust them.

export type Figure =
  | { state: "exact" | "at_least"; value: number; interval: [number, number] | null; trials: number }
  | { state: "failed" | "too_few" | "none" };

export const STATS = [
  "mean", "p50", "p75", "p80", "p85", "p90", "p95", "p98", "p99", "p99.9", "max",
] as const;
export type Stat = (typeof STATS)[number];
export type Times = Record<Stat, Figure>;

export const TIMES = [
  "response_time_ns", "response_time_ns_ok", "service_time_ns", "service_time_ns_ok",
] as const;
export const SINGLES = [
  "connection_wait_ns_p99", "schedule_lag_ns_p99", "first_answer_ns", "first_request_ns", "ok_share",
  "offered_per_second", "throughput_per_second", "received_bytes_per_second",
  "sent_bytes_per_second", "cpu_percent_median", "cpu_percent_max", "cpu_cost_us",
  "memory_bytes_median", "memory_bytes_max",
] as const;
export const ROLE_SINGLES = [
  "cpu_percent_median", "cpu_percent_max", "cpu_cost_us", "memory_bytes_median", "memory_bytes_max",
] as const;
export type RoleFigures = Record<(typeof ROLE_SINGLES)[number], Figure>;
export type Figures = Record<(typeof TIMES)[number], Times> &
  Record<(typeof SINGLES)[number], Figure> & { roles: Record<string, RoleFigures> };

export interface Counts {
  planned: number;
  ok: number;
  failed: Record<string, number>;
  dropped: number;
  restarts: number;
  context_switches: number;
  in_flight_max: number;
}

export type Model = "open" | "closed";
export type Primary =
  | "response_time_p95" | "response_time_p50" | "response_time_mean" | "throughput";
export type Relation = "higher" | "lower" | "equivalent" | "inconclusive" | "too_few_rounds";

export interface Comparison {
  runtime: string;
  ratio: { value: number; interval: [number, number] | null } | null;
  /** How the runtime's figure compares with the baseline's. */
  relation: Relation | null;
  why_not: string;
}

export interface Group {
  app: string;
  load: string;
  load_text: string;
  model: Model;
  primary: Primary;
  sentence: string;
  baseline: string | null;
  comparisons: Comparison[];
}

export interface Reason {
  judged: "valid" | "suspect" | "invalid" | null;
  trials: number[];
  text: string;
}

export interface Expectation {
  text: string;
  outcome: string;
  figure: string;
}

export interface Breaking {
  trials: number;
  trials_broken: number;
  seconds: number[];
  offered_per_second: Figure;
  lost: string[];
  response_time_ns: Times;
}

/** What limited a case or a trial. */
export interface Why {
  cause: string;
  trials: number[];
  text: string;
  evidence: string[];
}

export interface Trial {
  number: number;
  round: number;
  verdict: string;
  reasons: string[];
  /** The most direct cause first; empty: not known. */
  why: Why[];
  counts: Counts;
  figures: Figures;
}

export interface Case {
  /** The case's place in `summary.cases`. Series and curves name the case by it. */
  index: number;
  runtime: string;
  app: string;
  load: string;
  model: Model;
  verdict: string;
  reasons: Reason[];
  /** The most direct cause first; empty: not known. */
  why: Why[];
  not_comparable: string[];
  asked: string[];
  forced: string[];
  /** What one request leaves behind that a later request sees. */
  kept: string[];
  provider: string;
  title: string;
  mode: string;
  versions: Record<string, string>;
  budget_cpus: number;
  budget_memory_bytes: number;
  budget_unequal: boolean;
  timeout_ns: number;
  stretched_max: number;
  /** Cases without a common letter differ, all pairs compared; empty with fewer than three rounds. */
  significance_groups: string;
  trials_counted: number;
  trials_invalid: number;
  trials_missing: number;
  counts: Counts;
  figures: Figures;
  trials: Trial[];
  expectations: Expectation[];
  breaking: Breaking | null;
}

/** The result of a run for an app, in sentences. */
export interface Headline {
  app: string;
  text: string;
  /** What is true of all rows: correct answers, the pages, what was used. */
  facts: string[];
}

export interface Summary {
  run: string;
  stampede: string;
  started_at: string;
  seed: number;
  rounds: number;
  notices: string[];
  groups: Group[];
  cases: Case[];
}

export type State = "ended" | "under_way" | "cut_off";

/** A run, and the command that repeats it. */
export interface Run {
  /** `A`, `B` … if there are several runs; empty for a single run. */
  label: string;
  run: string;
  started_at: string;
  stampede: string;
  seed: number;
  rounds: number;
  state: State;
  /** The names that the summary uses, in the plan's order. */
  runtimes: string[];
  plan_text: string;
  flags: string[];
  command: string;
  machine: [string, string][];
}

/** The runtime and the run that a name stands for, in a report of several runs. */
export interface Named {
  runtime: string;
  /** The run's place in `Page.runs`. */
  run: number;
}

export interface Progress {
  ended: number;
  planned: number;
  /** `seconds` 0: the trial starts, verifies or warms up. */
  under_way: { trial: number; case: number; seconds: number } | null;
}

/** Addresses on the server that the page came from; empty: the page is a file. */
export interface Served {
  home: string;
  events: string;
}

export type Column = (number | null)[];

export interface Resources {
  at: number[];
  cpu_percent: Record<string, Column>;
  memory_mib: Record<string, Column>;
}

export interface Series {
  case: number;
  trial: number;
  round: number;
  /** The trial has not ended, so it does not count. */
  unfinished: boolean;
  step: number;
  mean: Column;
  p50: Column;
  p95: Column;
  p99: Column;
  max: Column;
  offered: Column;
  ok: Column;
  dropped: Column;
  failed: Record<string, Column>;
  in_flight: Column;
  resources: Resources;
}

export interface Curve {
  case: number;
  points: [number, number][];
  failed_from: number | null;
}

export interface Observed {
  php_version: string;
  sapi: string;
  thread_safe: boolean;
  opcache: boolean;
  jit: boolean;
  workers: number;
  extensions: string[];
  ini: Record<string, string>;
  notices: string[];
}

export interface RuntimeEvidence {
  /** The run's place in `Page.runs`. */
  run: number;
  name: string;
  title: string;
  mode: string;
  versions: Record<string, string>;
  settings: Record<string, string>;
  commands: string[];
  files: [string, string][];
  observed: Observed | null;
  isolation: [string, string][];
}

export interface TrialEvidence {
  /** The run's place in `Page.runs`. */
  run: number;
  number: number;
  round: number;
  case: number;
  verdict: string;
  reasons: string[];
  /** Worth knowing, but without effect on the verdict. */
  notes: string[];
  phases: { name: string; begin: number; end: number }[];
  figures: [string, string][];
  errors: [string, string][];
  log_lines: [string, string][];
}

/** The evidence for a case's figures. */
export interface CaseEvidence {
  case: number;
  figures: [string, string][];
}

export interface Evidence {
  runtimes: RuntimeEvidence[];
  cases: CaseEvidence[];
  trials: TrialEvidence[];
}

export interface Download {
  name: string;
  type: string;
  text: string;
}

export interface Page {
  stampede: string;
  /** Never empty. */
  runs: Run[];
  /** Only with several runs: what the names in the summary's cases stand for. */
  names: Map<string, Named>;
  summary: Summary;
  /** One headline for each app; empty if several runs are combined. */
  headlines: Headline[];
  series: Series[];
  curves: Curve[];
  evidence: Evidence;
  downloads: Download[];
  /** The progress of a run that has not ended; `null`: it has ended. */
  progress: Progress | null;
  served: Served | null;
}

/** The place in `Page.runs` of the run that a name belongs to. */
export function runOf(page: Page, name: string): number {
  return page.names.get(name)?.run ?? 0;
}

/** The runtime that a name stands for, in any run. */
export function ownName(page: Page, name: string): string {
  return page.names.get(name)?.runtime ?? name;
}

/** The figure's number, even if it is only a lower bound; `null` if there is none. */
export function valueOf(figure: Figure | undefined): number | null {
  return figure && "value" in figure ? figure.value : null;
}

export function intervalOf(figure: Figure | undefined): [number, number] | null {
  return figure && figure.state === "exact" ? figure.interval : null;
}

export function failedTotal(counts: Counts): number {
  return Object.values(counts.failed).reduce((sum, count) => sum + count, 0);
}

/** The headline time: response time in the open model, service time in the closed model. */
export function headline(model: Model): "response_time_ns" | "service_time_ns" {
  return model === "open" ? "response_time_ns" : "service_time_ns";
}

export function headlineWords(model: Model): string {
  return model === "open" ? "response time" : "service time";
}

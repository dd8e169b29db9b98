// What the page works with: the program's own types (`data.generated.ts`), as the reader (`read.ts`)
// hands them on. It guarantees them, so the page may trust them. A type here says where that is less
// than the program writes: of a fact only its sentence, of a word that is only shown any text.

import type * as written from "./data.generated.ts";
import type { CaseCounts, Figure, Figures, LoadModel } from "./data.generated.ts";

export const STATS = [
  "mean", "p50", "p75", "p80", "p85", "p90", "p95", "p98", "p99", "p99.9", "max",
] as const satisfies readonly (keyof written.TimeFigures)[];
export type Stat = keyof written.TimeFigures;

export const TIMES = [
  "response_time_ns", "response_time_without_lag_ns", "lower_bound_ns", "response_time_ns_ok", "service_time_ns", "service_time_ns_ok",
] as const satisfies readonly (keyof Figures)[];
export const SINGLES = [
  "connection_wait_ns_p99", "schedule_lag_ns_p99", "first_answer_ns", "first_request_ns", "ok_share",
  "offered_per_second", "throughput_per_second", "received_bytes_per_second",
  "sent_bytes_per_second", "cpu_percent_median", "cpu_percent_max", "cpu_cost_us",
  "memory_bytes_median", "memory_bytes_max",
] as const satisfies readonly (keyof Figures)[];
export const ROLE_SINGLES = [
  "cpu_percent_median", "cpu_percent_max", "cpu_cost_us", "memory_bytes_median", "memory_bytes_max",
] as const satisfies readonly (keyof written.RoleFigures)[];

export interface Comparison extends Pick<written.Comparison, "runtime" | "relation"> {
  ratio: Pick<written.Estimate, "value" | "interval"> | null;
  /** Empty: the two are compared. */
  why_not: string;
}

export interface Group
  extends Pick<written.Group, "app" | "load" | "load_text" | "model" | "primary" | "sentence" | "baseline"> {
  comparisons: Comparison[];
}

export type Reason = Pick<written.CaseReason, "judged" | "trials" | "text">;

export interface Expectation extends Pick<written.ExpectationValidity, "text"> {
  outcome: string;
  /** What was found instead; empty: not known. */
  figure: string;
}

export type Breaking = Pick<
  written.Breaking, "trials" | "trials_broken" | "seconds" | "offered_per_second" | "lost" | "response_time_ns"
>;

/** What limited a case or a trial. */
export interface Why extends Pick<written.LimitingCause, "trials" | "text"> {
  cause: string;
  evidence: string[];
}

export interface Trial extends Pick<written.TrialSummary, "number" | "round" | "counts"> {
  verdict: string;
  reasons: string[];
  why: Why[];
  figures: Figures;
}

export interface Case
  extends Pick<
      written.CaseSummary,
      | "runtime" | "app" | "load" | "model" | "title" | "mode" | "versions" | "budget_cpus"
      | "budget_memory_bytes" | "budget_unequal" | "timeout_ns" | "stretched_max" | "trials_counted"
      | "trials_invalid" | "trials_missing" | "counts"
    >,
    Required<Pick<written.CaseSummary, "kept" | "differs" | "significance_groups">> {
  /** The case's place in `summary.cases`. Series and curves name the case by it. */
  index: number;
  verdict: string;
  provider: string;
  /** It measures the other version a second time, so it is in no ranking. */
  is_noise: boolean;
  reasons: Reason[];
  why: Why[];
  not_comparable: string[];
  asked: string[];
  forced: string[];
  figures: Figures;
  trials: Trial[];
  agents: written.AgentFigures[];
  expectations: Expectation[];
  breaking: Breaking | null;
}

export interface Summary
  extends Pick<written.Summary, "run" | "stampede" | "started_at" | "seed" | "rounds"> {
  /** Published tables beside the figures; null: there are none. */
  published: written.PublishedComparison | null;
  notices: string[];
  groups: Group[];
  cases: Case[];
}

/** Addresses on the server that the page came from; an empty one: there is none. */
export type Served = Record<keyof written.ServerLinks, string>;

export type Column = written.Series["mean"];

/** The columns that the program always fills. The reader does not rely on that. */
type Counted = "offered" | "ok" | "dropped" | "in_flight";

export interface Series extends Omit<written.Series, Counted | "failed">, Record<Counted, Column> {
  failed: Record<string, Column>;
}

export interface Observed extends Omit<written.ObservedEvidence, "notices"> {
  notices: string[];
}

export interface RuntimeEvidence extends Omit<written.RuntimeEvidence, "settings" | "observed"> {
  settings: Record<string, string>;
  observed: Observed | null;
}

export interface TrialEvidence
  extends Omit<written.TrialEvidence, "verdict" | "reasons" | "notes" | "phases"> {
  verdict: string;
  reasons: string[];
  notes: string[];
  phases: { name: string; begin: number; end: number }[];
}

export interface Evidence extends Pick<written.Evidence, "cases"> {
  runtimes: RuntimeEvidence[];
  trials: TrialEvidence[];
}

export interface Page extends Pick<written.Page, "stampede" | "runs" | "headlines" | "curves" | "downloads"> {
  /** Only with several runs: what the names in the summary's cases stand for. */
  names: Map<string, written.OverlaidRuntime>;
  summary: Summary;
  /** Two versions of the apps; `null`: there is one. */
  versions: written.ComparedVersions | null;
  series: Series[];
  evidence: Evidence;
  /** The progress of a run that has not ended; `null`: it has ended. */
  progress: written.Progress | null;
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

export function failedTotal(counts: CaseCounts): number {
  return Object.values(counts.failed).reduce((sum, count) => sum + count, 0);
}

/** The headline time: response time in the open model, service time in the closed model. */
export function headline(model: LoadModel): "response_time_ns" | "service_time_ns" {
  return model === "open" ? "response_time_ns" : "service_time_ns";
}

export function headlineWords(model: LoadModel): string {
  return model === "open" ? "response time" : "service time";
}

// Verdicts, comparisons and figures in words.

import type { Figure, RunState } from "./data.generated.ts";
import { headline, headlineWords, type Case, type Comparison, type Group, type Reason } from "./data.ts";
import * as format from "./format.ts";

/** The figure by which the group's cases are sorted. */
export function primaryFigure(group: Group, of: Case["figures"]): Figure {
  const times = of[headline(group.model)];
  switch (group.primary) {
    case "response_time_p95":
      return times.p95;
    case "response_time_p50":
      return times.p50;
    case "response_time_mean":
      return times.mean;
    case "throughput":
      return of.throughput_per_second;
  }
}

export function primaryWords(group: Group): string {
  switch (group.primary) {
    case "response_time_p95":
      return "p95 of response time";
    case "response_time_p50":
      return "median of response time";
    case "response_time_mean":
      return "mean of response time";
    case "throughput":
      return "throughput";
  }
}

export function primaryNumber(group: Group): (value: number) => string {
  return group.primary === "throughput" ? (value) => `${format.rate(value)}${format.THIN}/s` : format.time;
}

export interface Judgement {
  words: string;
  tone: "good" | "bad" | "tie" | "faint";
}

/** What a comparison with the baseline says about the other runtime. */
export function judgement(group: Group, other: Comparison): Judgement {
  const isMoreBetter = group.primary === "throughput";
  switch (other.relation) {
    case "higher":
      return isMoreBetter ? { words: "faster", tone: "good" } : { words: "slower", tone: "bad" };
    case "lower":
      return isMoreBetter ? { words: "slower", tone: "bad" } : { words: "faster", tone: "good" };
    case "equivalent":
      return { words: "about the same", tone: "tie" };
    case "inconclusive":
      return { words: "too close to call", tone: "tie" };
    case "too_few_rounds":
      return { words: "first impression", tone: "faint" };
    case null:
      return { words: "not compared", tone: "faint" };
  }
}

/** A reason with its trials: `trial 11 invalid, not counted: …`. */
export function reasonWords(reason: Reason): string {
  if (!reason.judged) return reason.text;
  const trials = reason.trials.length === 1 ? "trial" : "trials";
  const judged = reason.judged === "invalid" ? " invalid, not counted" : reason.judged === "suspect" ? " suspect" : "";
  return `${trials} ${format.listOf(reason.trials.map(String))}${judged}: ${reason.text}`;
}

export interface Badge {
  words: string;
  tone: "bad" | "warning" | "quiet" | "live";
}

/** The marks of a case, in words. Before a run has ended, no trial counts as missing. */
export function badges(entry: Case, state: RunState, isUnderWay: boolean): Badge[] {
  const found: Badge[] = [];
  if (isUnderWay) found.push({ words: "running", tone: "live" });
  const isComing = state === "under_way" && entry.verdict !== "refused";
  if (entry.verdict === "refused") found.push({ words: "refused", tone: "bad" });
  else if (entry.verdict === "missing" && isComing) {
    if (!isUnderWay) found.push({ words: "to come", tone: "quiet" });
  } else if (entry.verdict === "missing") found.push({ words: "missing", tone: "bad" });
  else if (entry.verdict === "invalid") found.push({ words: "invalid", tone: "bad" });
  else if (entry.trials_invalid > 0) found.push({ words: invalidTrials(entry), tone: "bad" });
  if (entry.verdict === "suspect") found.push({ words: "suspect", tone: "warning" });
  if (entry.not_comparable.length > 0) found.push({ words: "not comparable", tone: "warning" });
  if (entry.budget_unequal) found.push({ words: "unequal budget", tone: "warning" });
  if (entry.verdict !== "missing" && entry.trials_missing > 0) {
    const trials = format.numberOf(entry.trials_missing, "trial");
    found.push(isComing ? { words: `${trials} to come`, tone: "quiet" } : { words: `${trials} missing`, tone: "bad" });
  }
  return found;
}

/** The mark of a run's state. */
export function stateBadge(state: RunState | "unreadable"): Badge {
  switch (state) {
    case "ended":
      return { words: "ended", tone: "quiet" };
    case "under_way":
      return { words: "running", tone: "live" };
    case "cut_off":
      return { words: "ended early", tone: "warning" };
    case "unreadable":
      return { words: "unreadable", tone: "bad" };
  }
}

function invalidTrials(entry: Case): string {
  return entry.trials_invalid === 1 ? "a trial invalid" : `${entry.trials_invalid} trials invalid`;
}

/** Everything that must stand right beside a case's figures. */
export function remarks(group: Group, entry: Case): string[] {
  // If a case has no trial, its row already says why.
  const found = entry.verdict === "missing" ? [] : entry.reasons.map(reasonWords);
  if (entry.why.length > 0) found.push(`limit: ${whyWords(entry)}`);
  found.push(...entry.not_comparable.map((why) => `not comparable: ${why}`));
  if (entry.budget_unequal) found.push("its budget is split by role, or not known: unequal");
  const other = group.comparisons.find((one) => one.runtime === entry.runtime);
  if (other?.why_not) found.push(`not compared: ${other.why_not}`);
  found.push(...entry.expectations.map(expectationWords).filter((words) => words !== ""));
  const failed = failures(entry);
  if (failed) found.push(failed);
  if (entry.breaking) found.push(breakingWords(entry));
  return found;
}

/** The most direct cause, and what else limits the case. */
export function whyWords(entry: Case): string {
  const said = entry.why.map((one) => {
    const [of, all] = [one.trials.length, entry.trials.length];
    return of < all ? `${one.text} (in ${of} of ${all} trials)` : one.text;
  });
  const [first = "", ...others] = said;
  return others.length > 0 ? `${first}; also ${others.join("; ")}` : first;
}

function expectationWords(one: Case["expectations"][number]): string {
  if (one.outcome === "not_met") {
    return `expected \`${one.text}\`: not met${one.figure ? ` (${one.figure})` : ""}`;
  }
  const known = one.figure ? ` (${one.figure})` : "";
  return one.outcome === "unknown" ? `expected \`${one.text}\`: cannot be said${known}` : "";
}

/** The numbers of requests without a correct answer, by kind. */
export function failures(entry: Case): string {
  const kinds = Object.entries(entry.counts.failed).filter(([, count]) => count > 0);
  const words = kinds.map(([kind, count]) => `${format.count(count)} ${kind}`);
  if (entry.counts.dropped > 0) words.push(`${format.count(entry.counts.dropped)} dropped`);
  if (words.length === 0) return "";
  return `failed requests: ${words.join(", ")} of ${format.count(entry.counts.planned)} requests`;
}

export function breakingWords(entry: Case): string {
  const { breaking } = entry;
  if (!breaking) return "";
  if (breaking.trials_broken === 0) return "held to the end of the rise";
  const lost = breaking.lost.length > 0 ? ` (${breaking.lost.join(", ")} lost for good)` : "";
  const rate = format.figure(breaking.offered_per_second, format.rate);
  const time = format.figure(breaking.response_time_ns.p95, format.time);
  return `broke at ${rate}${format.THIN}/s${lost}; up to there p95 was ${time}`;
}

/** `1 CPU, 512 MiB`, `0.5 CPU`; several of these if cases differ. */
export function budgetWords(cases: Case[]): string {
  const known = cases.filter((entry) => entry.budget_cpus > 0);
  const words = known.map((entry) => {
    const memory = entry.budget_memory_bytes > 0 ? `, ${format.bytes(entry.budget_memory_bytes)}` : "";
    return `${entry.budget_cpus} CPU${entry.budget_cpus > 1 ? "s" : ""}${memory}`;
  });
  return [...new Set(words)].join(" or ");
}

export function groupTitle(group: Group): string {
  return `${group.app} · ${group.load}`;
}

export function modelWords(group: Group): string {
  return group.model === "open"
    ? "open model: requests are sent by a schedule"
    : "closed model: the next request follows each answer";
}

export { headlineWords };

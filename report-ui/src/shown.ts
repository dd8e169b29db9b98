// Chooses the trial of each case that the charts over time show. No DOM.

import type { LoadModel } from "./data.generated.ts";
import { headline, runOf, valueOf, type Case, type Page, type Series, type Trial } from "./data.ts";
import { median } from "./scale.ts";

/** A case and its series that is shown now. */
export interface Shown {
  case: Case;
  trial: Trial | null;
  series: Series;
  state: "counts" | "invalid" | "under_way" | "not_finished";
}

/** The words after a name, if its line is not of a trial that counts. */
export const STATE_WORDS: Record<Shown["state"], string> = {
  counts: "", invalid: " (invalid)", under_way: " (running)", not_finished: " (not finished)",
};

export function seriesOf(page: Page, entry: Case): Series[] {
  return page.series.filter((series) => series.case === entry.index);
}

/** `round` 0: the case's running trial or, if there is none, the median of the trials that ended. */
export function shownOf(page: Page, entry: Case, model: LoadModel, round: number): Shown | null {
  const all = seriesOf(page, entry);
  const series = round === 0 ? usual(page, entry, model, all) : ofRound(entry, all, round);
  if (!series) return null;
  const trial = trialOf(entry, series);
  return { case: entry, trial, series, state: stateOf(page, entry, trial, series) };
}

export function roundOf(entry: Case, series: Series): number {
  return trialOf(entry, series)?.round ?? series.round;
}

function trialOf(entry: Case, series: Series): Trial | null {
  if (series.unfinished) return null;
  return entry.trials.find((one) => one.number === series.trial) ?? null;
}

function stateOf(page: Page, entry: Case, trial: Trial | null, series: Series): Shown["state"] {
  if (series.unfinished) {
    return page.runs[runOf(page, entry.runtime)]?.state === "under_way" ? "under_way" : "not_finished";
  }
  return trial?.verdict === "invalid" ? "invalid" : "counts";
}

function ofRound(entry: Case, all: Series[], round: number): Series | undefined {
  const own = all.filter((series) => roundOf(entry, series) === round);
  return own.find((series) => !series.unfinished) ?? own[0];
}

function usual(page: Page, entry: Case, model: LoadModel, all: Series[]): Series | undefined {
  const unfinished = all.find((series) => series.unfinished && series.ok.length > 0);
  const ended = all.filter((series) => !series.unfinished);
  if (ended.length === 0) return unfinished;
  if (unfinished && page.progress?.under_way?.case === entry.index) return unfinished;
  const valid = ended.filter((series) => trialOf(entry, series)?.verdict !== "invalid");
  const pool = valid.length > 0 ? valid : ended;
  const p95 = (series: Series) =>
    valueOf(trialOf(entry, series)?.figures[headline(model)].p95) ?? Infinity;
  const middle = median(pool.map(p95));
  return pool.find((series) => p95(series) === middle) ?? pool[0];
}

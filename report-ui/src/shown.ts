// Which trial of each cell the charts over time show. Pure.

import { headline, runOf, valueOf, type Cell, type Model, type Page, type Series, type Trial } from "./data.ts";
import { median } from "./scale.ts";

/** A cell's series that are shown now. */
export interface Shown {
  cell: Cell;
  trial: Trial | null;
  series: Series;
  state: "counts" | "invalid" | "under_way" | "not_finished";
}

/** Words that follow a name where its line is not of a trial that counts. */
export const STATE_WORDS: Record<Shown["state"], string> = {
  counts: "", invalid: " (invalid)", under_way: " (under way)", not_finished: " (not finished)",
};

export function seriesOf(page: Page, cell: Cell): Series[] {
  return page.series.filter((series) => series.cell === cell.index);
}

/** `round` 0: of each cell its trial under way, or of those that ended the one in the middle. */
export function shownOf(page: Page, cell: Cell, model: Model, round: number): Shown | null {
  const all = seriesOf(page, cell);
  const series = round === 0 ? usual(page, cell, model, all) : ofRound(cell, all, round);
  if (!series) return null;
  const trial = trialOf(cell, series);
  return { cell, trial, series, state: stateOf(page, cell, trial, series) };
}

export function roundOf(cell: Cell, series: Series): number {
  return trialOf(cell, series)?.round ?? series.round;
}

function trialOf(cell: Cell, series: Series): Trial | null {
  if (series.unfinished) return null;
  return cell.trials.find((one) => one.number === series.trial) ?? null;
}

function stateOf(page: Page, cell: Cell, trial: Trial | null, series: Series): Shown["state"] {
  if (series.unfinished) {
    return page.runs[runOf(page, cell.runtime)]?.state === "under_way" ? "under_way" : "not_finished";
  }
  return trial?.verdict === "invalid" ? "invalid" : "counts";
}

function ofRound(cell: Cell, all: Series[], round: number): Series | undefined {
  const own = all.filter((series) => roundOf(cell, series) === round);
  return own.find((series) => !series.unfinished) ?? own[0];
}

function usual(page: Page, cell: Cell, model: Model, all: Series[]): Series | undefined {
  const unfinished = all.find((series) => series.unfinished && series.ok.length > 0);
  const ended = all.filter((series) => !series.unfinished);
  if (ended.length === 0) return unfinished;
  if (unfinished && page.progress?.under_way?.cell === cell.index) return unfinished;
  const valid = ended.filter((series) => trialOf(cell, series)?.verdict !== "invalid");
  const pool = valid.length > 0 ? valid : ended;
  const p95 = (series: Series) =>
    valueOf(trialOf(cell, series)?.figures[headline(model)].p95) ?? Infinity;
  const middle = median(pool.map(p95));
  return pool.find((series) => p95(series) === middle) ?? pool[0];
}

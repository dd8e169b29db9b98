// The charts of one group: which trial they show, their shared zoom, and the charts.

import { headline, valueOf, type Cell, type Group, type Series, type Trial } from "./data.ts";
import { Chart, type Spec, type Together } from "./chart.ts";
import { button, choice, h } from "./dom.ts";
import * as format from "./format.ts";
import { curveChart } from "./curve.ts";
import { risingChart } from "./rising.ts";
import { spreadFigure } from "./spread.ts";
import { timeSpecs } from "./over_time.ts";
import { median, panned } from "./scale.ts";
import type { Store } from "./store.ts";
import { cellsOf } from "./ranking.ts";
import { zoom } from "./tip.ts";
import * as words from "./words.ts";

/** A cell's series that are shown now. */
export interface Shown {
  cell: Cell;
  trial: Trial | null;
  series: Series;
  isInvalid: boolean;
}

export class Panel implements Together {
  readonly key: string;
  readonly cells: Cell[];
  private readonly charts: Chart[] = [];
  private zoomedTo: [number, number] | null = null;
  /** A round's number; 0: of each runtime the trial in the middle. */
  private round = 0;
  private readonly note = h("p", { class: "note", role: "status" });
  private readonly reset: HTMLButtonElement;
  private frame = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly store: Store, readonly group: Group, place: number) {
    this.key = `group-${place}`;
    this.cells = cellsOf(store, group);
    this.reset = button("Reset", () => this.setRange(null), { disabled: true, title: "Show the whole time" });
  }

  /** Whether there is anything to draw. */
  hasSeries(): boolean {
    return this.cells.some((cell) => this.seriesOf(cell).length > 0);
  }

  element(): HTMLElement {
    const id = `charts-${this.key}`;
    const made = h("section", { class: "panel", id, "aria-labelledby": `${id}-title` },
      h("h3", { id: `${id}-title` }, words.groupTitle(this.group),
        h("span", { class: "about" }, this.group.load_text)));
    if (this.hasSeries()) {
      made.append(this.toolbar(), this.note, h("div", { class: "charts" }, ...this.timeCharts()));
    } else {
      made.append(h("p", { class: "missing" }, "No trial with a load is there, so nothing can be drawn over time."));
    }
    made.append(h("div", { class: "charts two" }, ...this.otherCharts()));
    this.say();
    return made;
  }

  private timeCharts(): HTMLElement[] {
    return timeSpecs(this).map((spec) => this.chart(spec, this));
  }

  private otherCharts(): HTMLElement[] {
    const rising = risingChart(this);
    return [
      rising ? this.chart(rising, null) : null,
      this.chart(curveChart(this), null),
      spreadFigure(this),
    ].filter((made): made is HTMLElement => made !== null);
  }

  private chart(spec: (redraw: () => void) => Spec, together: Together | null): HTMLElement {
    const chart: Chart = new Chart(this.store, spec(() => chart.refresh()), together);
    this.charts.push(chart);
    return chart.element;
  }

  private toolbar(): HTMLElement {
    const rounds = [...new Set(this.cells.flatMap((cell) => cell.trials.map((trial) => trial.round)))].sort((a, b) => a - b);
    const options: [string, string][] = [["0", "median trial of each, by p95"]];
    options.push(...rounds.map((round): [string, string] => [String(round), this.roundWords(round)]));
    const pick = rounds.length > 1
      ? choice("Trial", options, "0", (value) => {
        this.round = Number(value);
        this.say();
        this.charts.forEach((chart) => chart.refresh());
      })
      : null;
    const move = (by: number) => {
      const range = this.zoomedTo;
      if (range) this.setRange(panned(range, this.whole(), (range[1] - range[0]) * by));
    };
    return h("div", { class: "toolbar" }, pick,
      h("div", { class: "buttons", role: "group", "aria-label": "Zoom of all charts over time" },
        button("+", () => zoom({ together: this }, 0.5), { "aria-label": "Zoom in" }),
        button("−", () => zoom({ together: this }, 2), { "aria-label": "Zoom out" }),
        button("◀", () => move(-0.25), { "aria-label": "Earlier" }),
        button("▶", () => move(0.25), { "aria-label": "Later" }),
        this.reset),
      h("span", { class: "hint" }, "Drag over a chart to zoom in, double-click to see all, Shift and drag to move."));
  }

  private roundWords(round: number): string {
    const invalid = this.cells.filter((cell) =>
      cell.trials.some((trial) => trial.round === round && trial.verdict === "invalid"));
    return invalid.length === 0 ? `round ${round}` : `round ${round} (with invalid trials)`;
  }

  /** Says what is not as it should be in what is shown. */
  private say(): void {
    const shown = this.shown();
    const texts = shown.filter(({ isInvalid }) => isInvalid).map(({ cell, trial }) =>
      `${cell.runtime}: trial ${trial?.number ?? "?"} is invalid, its lines are faint: ${(trial?.reasons ?? []).join("; ") || "no reason is there"}.`);
    const without = this.cells.filter((cell) => !shown.some((one) => one.cell === cell));
    if (without.length > 0) {
      texts.push(`No trial with a load here: ${format.listOf(without.map((cell) => cell.runtime))}.`);
    }
    const thinned = Math.max(1, ...shown.map(({ series }) => series.step));
    if (thinned > 1) texts.push(`Each two rows are the lowest and the highest of ${format.short(thinned * 2)} seconds.`);
    this.note.textContent = texts.join(" ");
    this.note.hidden = texts.length === 0;
  }

  private seriesOf(cell: Cell): Series[] {
    return this.store.page.series.filter((series) => series.cell === cell.index);
  }

  /** What the charts over time show: a series a cell. */
  shown(): Shown[] {
    return this.cells.flatMap((cell) => {
      const series = this.pick(cell);
      if (!series) return [];
      const trial = cell.trials.find((one) => one.number === series.trial) ?? null;
      return [{ cell, trial, series, isInvalid: trial?.verdict === "invalid" }];
    });
  }

  private pick(cell: Cell): Series | undefined {
    const all = this.seriesOf(cell);
    const trialOf = (series: Series) => cell.trials.find((trial) => trial.number === series.trial);
    if (this.round !== 0) return all.find((series) => trialOf(series)?.round === this.round);
    const valid = all.filter((series) => trialOf(series)?.verdict !== "invalid");
    const pool = valid.length > 0 ? valid : all;
    const p95 = (series: Series) =>
      valueOf(trialOf(series)?.figures[headline(this.group.model)].p95) ?? Infinity;
    const middle = median(pool.map(p95));
    return pool.find((series) => p95(series) === middle) ?? pool[0];
  }

  range(): [number, number] | null {
    return this.zoomedTo;
  }

  whole(): [number, number] {
    const ends = this.shown().map(({ series }) => series.ok.length * series.step);
    return [0, Math.max(1, ...ends)];
  }

  setRange(range: [number, number] | null): void {
    // Never closer than two seconds: rows are seconds.
    const [low, high] = range ?? this.whole();
    if (range && high - low < 2) return;
    this.zoomedTo = range;
    this.reset.disabled = range === null;
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const seen = this.charts.map((chart) => chart.isSeen());
      this.charts.forEach((chart, place) => seen[place] && chart.applyRange());
      // The others follow when the hand rests: a pan must keep up.
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.charts.forEach((chart, place) => !seen[place] && chart.applyRange()), 150);
    });
  }
}

// The charts of one group, the choice of the trial that they show, and their shared zoom.

import { runOf, type Case, type Group } from "./data.ts";
import { Chart, type Spec, type Together } from "./chart.ts";
import { button, choice, h } from "./dom.ts";
import * as format from "./format.ts";
import { curveChart } from "./curve.ts";
import type { Choice } from "./kept.ts";
import { risingChart } from "./rising.ts";
import { seriesOf, shownOf, roundOf, type Shown } from "./shown.ts";
import { spreadFigure } from "./spread.ts";
import { timeSpecs } from "./over_time.ts";
import { panned } from "./scale.ts";
import type { Store } from "./store.ts";
import { casesOf } from "./ranking.ts";
import { zoom } from "./tip.ts";
import * as words from "./words.ts";

export class Panel implements Together {
  readonly key: string;
  readonly cases: Case[];
  private readonly charts: Chart[] = [];
  /** The charts that the running trial is part of. */
  private readonly growing: Chart[] = [];
  private readonly zoomedTo: Choice<[number, number] | null>;
  /** The number of a round; 0: the median trial of each runtime. */
  private readonly round: Choice<string>;
  private readonly overTime = h("div", {});
  private readonly note = h("p", { class: "note", role: "status" });
  private readonly reset: HTMLButtonElement;
  private isFilled = false;
  private frame = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly store: Store, readonly group: Group, place: number) {
    this.key = `group-${place}`;
    this.cases = casesOf(store, group);
    this.zoomedTo = this.kept<[number, number] | null>("zoom", null);
    this.round = store.kept.oneOf(this.name("round"), ["0", ...this.rounds().map(String)]);
    this.reset = button("Reset", () => this.setRange(null), {
      disabled: this.range() === null, title: "Show the whole time",
    });
    store.listen((change) => {
      if (change === "now") this.grow();
    });
  }

  private name(of: string): string {
    return [this.group.app, this.group.load, of].join("\n");
  }

  /** A choice that the reader made in this panel. */
  kept<T>(name: string, first: T): Choice<T> {
    return this.store.kept.choice(this.name(name), first);
  }

  /** The same for a list that may have changed. */
  oneOf(name: string, values: string[]): Choice<string> {
    return this.store.kept.oneOf(this.name(name), values);
  }

  /** Whether there is anything to draw. */
  private hasSeries(): boolean {
    return this.cases.some((entry) => seriesOf(this.store.page, entry).length > 0);
  }

  element(): HTMLElement {
    const id = `charts-${this.key}`;
    const made = h("section", { class: "panel", id, "aria-labelledby": `${id}-title` },
      h("h3", { id: `${id}-title` }, words.groupTitle(this.group),
        h("span", { class: "about" }, this.group.load_text)),
      this.overTime);
    this.fill();
    made.append(h("div", { class: "charts two" }, ...this.otherCharts()));
    return made;
  }

  private fill(): void {
    this.isFilled = this.hasSeries();
    if (this.isFilled) {
      this.overTime.replaceChildren(this.toolbar(), this.note, h("div", { class: "charts" }, ...this.timeCharts()));
    } else {
      const text = this.cases.some((entry) => this.isComing(entry))
        ? "Still to come: no trial with a load has begun here."
        : "No trial with a load is there, so nothing can be drawn over time.";
      this.overTime.replaceChildren(h("p", { class: "missing" }, text));
    }
    this.say();
  }

  /** Called when the running trial has new data. It may be the first trial of this panel. */
  private grow(): void {
    if (!this.isFilled && this.hasSeries()) {
      this.fill();
      return;
    }
    const entry = this.store.page.progress?.under_way?.case;
    const before = this.note.textContent;
    this.say();
    const isHere = this.cases.some((one) => one.index === entry);
    // Also draws when the running trial has just left this panel.
    if (isHere || before !== this.note.textContent) this.growing.forEach((chart) => chart.grow());
  }

  private isComing(entry: Case): boolean {
    return this.store.page.runs[runOf(this.store.page, entry.runtime)]?.state === "under_way";
  }

  private timeCharts(): HTMLElement[] {
    return timeSpecs(this).map((spec) => this.chart(spec, this, "grows"));
  }

  private otherCharts(): HTMLElement[] {
    const rising = risingChart(this);
    return [
      rising ? this.chart(rising, null, "grows") : null,
      this.chart(curveChart(this), null, "stays"),
      spreadFigure(this),
    ].filter((made): made is HTMLElement => made !== null);
  }

  private chart(spec: (redraw: () => void) => Spec, together: Together | null, how: "grows" | "stays"): HTMLElement {
    const chart: Chart = new Chart(this.store, spec(() => chart.refresh()), together);
    this.charts.push(chart);
    if (how === "grows") this.growing.push(chart);
    return chart.element;
  }

  /** The rounds of all trials, including a trial that has not ended. */
  private rounds(): number[] {
    const found = this.cases.flatMap((entry) => [
      ...entry.trials.map((trial) => trial.round),
      ...seriesOf(this.store.page, entry).map((series) => roundOf(entry, series)),
    ]);
    return [...new Set(found)].filter((round) => round > 0).sort((a, b) => a - b);
  }

  private toolbar(): HTMLElement {
    const rounds = this.rounds();
    const options: [string, string][] = [["0", "median trial of each, by p95"]];
    options.push(...rounds.map((round): [string, string] => [String(round), this.roundWords(round)]));
    const pick = rounds.length > 1
      ? choice("Trial", options, this.round.value, (value) => {
        this.round.value = value;
        this.say();
        this.charts.forEach((chart) => chart.refresh());
      })
      : null;
    const move = (by: number) => {
      const range = this.range();
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
    const hasInvalid = this.cases.some((entry) =>
      entry.trials.some((trial) => trial.round === round && trial.verdict === "invalid"));
    const own = this.cases.flatMap((entry) => shownOf(this.store.page, entry, this.group.model, round) ?? []);
    const marks = [
      hasInvalid ? "with invalid trials" : "",
      own.some((one) => one.state === "not_finished") ? "with a trial not finished" : "",
      own.some((one) => one.state === "under_way") ? "running" : "",
    ].filter(Boolean);
    return marks.length === 0 ? `round ${round}` : `round ${round} (${marks.join(", ")})`;
  }

  /** Writes a note about everything unusual in what is shown. */
  private say(): void {
    const shown = this.shown();
    const texts = shown.map(stateWords).filter(Boolean);
    const without = this.cases.filter((entry) => !shown.some((one) => one.case === entry));
    const say = (words: string, cases: Case[]) => {
      if (cases.length > 0) texts.push(`${words}: ${format.listOf(cases.map((entry) => entry.runtime))}.`);
    };
    say("Still to come", without.filter((entry) => this.isComing(entry)));
    say("No trial with a load here", without.filter((entry) => !this.isComing(entry)));
    const thinned = Math.max(1, ...shown.map(({ series }) => series.step));
    if (thinned > 1) texts.push(`Each two rows are the lowest and the highest of ${format.short(thinned * 2)} seconds.`);
    // Changed only if the text differs, because screen readers read each change aloud.
    if (this.note.textContent !== texts.join(" ")) this.note.textContent = texts.join(" ");
    this.note.hidden = texts.length === 0;
  }

  /** What the charts over time show: one series for each case. */
  shown(): Shown[] {
    const { page } = this.store;
    return this.cases.flatMap((entry) => shownOf(page, entry, this.group.model, Number(this.round.value)) ?? []);
  }

  range(): [number, number] | null {
    return this.zoomedTo.value;
  }

  whole(): [number, number] {
    const ends = this.shown().map(({ series }) => series.ok.length * series.step);
    return [0, Math.max(1, ...ends)];
  }

  setRange(range: [number, number] | null): void {
    // The range is never shorter than two seconds, because a row is one second.
    const [low, high] = range ?? this.whole();
    if (range && high - low < 2) return;
    this.zoomedTo.value = range;
    this.reset.disabled = range === null;
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const seen = this.charts.map((chart) => chart.isSeen());
      this.charts.forEach((chart) => chart.holdCursor());
      this.charts.forEach((chart, place) => seen[place] && chart.applyRange());
      // Charts off the screen follow when the range rests, so that moving stays smooth.
      clearTimeout(this.rest);
      this.rest = setTimeout(() => {
        this.charts.forEach((chart, place) => !seen[place] && chart.applyRange());
        this.charts.forEach((chart) => chart.releaseCursor());
        // After all charts are released, because one of them passes the cursor to the others.
        this.charts.forEach((chart) => chart.pointAgain());
      }, 150);
    });
  }
}

function stateWords({ case: entry, trial, series, state }: Shown): string {
  switch (state) {
    case "counts":
      return "";
    case "invalid":
      return `${entry.runtime}: trial ${trial?.number ?? "?"} is invalid, its lines are faint: ${(trial?.reasons ?? []).join("; ") || "no reason is there"}.`;
    case "under_way":
      return `${entry.runtime}: trial ${series.trial} is running.`;
    case "not_finished":
      return `${entry.runtime}: trial ${series.trial} was not finished: its lines are faint, and it counts for nothing.`;
  }
}

// The distribution over trials: a point for each trial, and the interval over all.

import type { Figure, Figures } from "./data.generated.ts";
import { headline, headlineWords, intervalOf, valueOf, type Case } from "./data.ts";
import { choice, h, later, scroller } from "./dom.ts";
import { dotRow } from "./dots.ts";
import * as format from "./format.ts";
import { named } from "./look.ts";
import type { Panel } from "./panel.ts";
import { extent } from "./scale.ts";

interface Metric {
  name: string;
  words: string;
  of: (figures: Figures) => Figure;
  number: (value: number) => string;
}

function metrics(panel: Panel): Metric[] {
  const what = headlineWords(panel.group.model);
  const times = headline(panel.group.model);
  const all: Metric[] = [
    { name: "p95", words: `p95 of ${what}`, of: (figures) => figures[times].p95, number: format.time },
    { name: "p50", words: `median of ${what}`, of: (figures) => figures[times].p50, number: format.time },
    { name: "mean", words: `mean of ${what}`, of: (figures) => figures[times].mean, number: format.time },
    { name: "p99", words: `p99 of ${what}`, of: (figures) => figures[times].p99, number: format.time },
    { name: "rate", words: "throughput", of: (figures) => figures.throughput_per_second, number: (value) => `${format.rate(value)}${format.THIN}/s` },
    { name: "cost", words: "CPU/request", of: (figures) => figures.cpu_cost_us, number: format.micros },
    { name: "memory", words: "memory, highest", of: (figures) => figures.memory_bytes_max, number: format.bytes },
  ];
  const first = { response_time_p95: "p95", response_time_p50: "p50", response_time_mean: "mean", throughput: "rate" }[panel.group.primary];
  return all.sort((a, b) => Number(b.name === first) - Number(a.name === first));
}

export function spreadFigure(panel: Panel): HTMLElement {
  const all = metrics(panel);
  const chosen = panel.oneOf("distribution", all.map((one) => one.name));
  const holder = h("div", { class: "spread" });
  const behind = h("div", { class: "behind" });
  const showLines = () => holder.querySelectorAll<HTMLElement>("[data-runtime]").forEach((row) => {
    row.hidden = !panel.store.isOn(row.dataset.runtime ?? "");
  });
  const show = (name: string) => {
    chosen.value = name;
    const metric = all.find((one) => one.name === name) ?? all[0];
    if (!metric) return;
    holder.replaceChildren(...rows(panel, metric));
    showLines();
    behind.replaceChildren(later("Data as a table", () => table(panel, metric)));
  };
  show(chosen.value);
  panel.store.listen((change) => {
    if (change === "lines") showLines();
  });
  return h("figure", { class: "chart", "data-key": "Distribution over trials" },
    h("figcaption", {}, h("h4", {}, "Distribution over trials"),
      h("div", { class: "controls" },
        choice("Show", all.map(({ name, words }) => [name, words]), chosen.value, show))),
    holder,
    h("p", { class: "note" }, "A marker for each trial (hollow: invalid, does not count), a stroke for the estimate, a band for its 95 % interval."),
    behind);
}

function rows(panel: Panel, metric: Metric): Node[] {
  const values = panel.cases.flatMap((entry) => entry.trials.flatMap((trial) => valueOf(metric.of(trial.figures)) ?? []));
  if (values.length === 0) return [h("p", { class: "instead" }, "No trial has this figure.")];
  const scale = extent(values, panel.cases.map((entry) => intervalOf(metric.of(entry.figures))));
  const made = panel.cases.map((entry) => row(panel, metric, entry, scale));
  const ends = h("div", { class: "spread-row ends" }, h("span", {}),
    h("span", { class: "scale" },
      h("span", {}, scale.low > 0 ? metric.number(scale.low) : "0"),
      scale.isLog ? h("span", {}, "log scale") : null,
      h("span", {}, metric.number(scale.high))));
  return [...made, ends];
}

function row(panel: Panel, metric: Metric, entry: Case, scale: ReturnType<typeof extent>): HTMLElement {
  const figure = metric.of(entry.figures);
  const dots = entry.trials.flatMap((trial) => {
    const value = valueOf(metric.of(trial.figures));
    if (value === null) return [];
    const isInvalid = trial.verdict === "invalid";
    return [{ value, isInvalid, words: `trial ${trial.number}, round ${trial.round}: ${metric.number(value)}${isInvalid ? ", invalid" : ""}` }];
  });
  // Hollow dots are drawn last: otherwise the dots that count would hide them.
  dots.sort((a, b) => Number(a.isInvalid) - Number(b.isInvalid));
  const look = panel.store.look(entry.runtime);
  return h("div", { class: "spread-row", "data-runtime": entry.runtime },
    h("span", { class: "spread-name" }, named(look, entry.runtime), h("small", {}, format.figure(figure, metric.number))),
    dotRow(scale, look, valueOf(figure), intervalOf(figure), dots) as unknown as Node);
}

function table(panel: Panel, metric: Metric): Node {
  const trials = panel.cases.flatMap((entry) => entry.trials.map((trial) => ({ case: entry, trial })));
  return scroller(`Data of the distribution of ${metric.words}`, h("table", { class: "figures" },
    h("caption", {}, metric.words),
    h("thead", {}, h("tr", {}, ...["runtime", "trial", "round", "verdict", metric.words].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, ...trials.map(({ case: entry, trial }) => h("tr", {},
      h("th", { scope: "row" }, entry.runtime),
      h("td", {}, String(trial.number)), h("td", {}, String(trial.round)), h("td", {}, trial.verdict),
      h("td", {}, format.figure(metric.of(trial.figures), metric.number)))))));
}

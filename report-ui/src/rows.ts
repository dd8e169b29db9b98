// Each row over the runs: its figures with their intervals, and lasting changes.

import type { ChangeOverRuns, FigureOverRuns, RowOverRuns } from "./data.generated.ts";
import { h, s, withCode } from "./dom.ts";
import * as format from "./format.ts";
import type { OverRuns } from "./history.ts";
import { themeButton } from "./theme.ts";

export function rowsView(root: HTMLElement, rows: OverRuns, problems: string[]): void {
  document.title = "stampede: rows over the runs";
  const version = rows.stampede ? `page written by stampede ${rows.stampede}` : "";
  root.append(
    h("header", {}, h("h1", {}, "stampede", h("span", {}, " rows over the runs")),
      h("p", {}, rows.results ? `in ${rows.results}` : ""),
      h("div", { class: "tools" },
        h("nav", { "aria-label": "Parts" }, rows.home ? h("a", { href: rows.home, class: "home" }, "All runs") : null),
        themeButton(new AbortController().signal))),
    h("main", { class: "rows" },
      ...problems.map((problem) => h("p", { class: "problem", role: "note" }, problem)),
      ...about(rows),
      ...rows.rows.map((row) => rowOf(rows, row))),
    h("footer", {}, h("p", {}, version)));
}

function about(rows: OverRuns): HTMLElement[] {
  if (rows.rows.length === 0) {
    return [h("section", { class: "nothing-yet" },
      h("h2", {}, "No row has two runs yet"),
      h("p", {}, "A row is drawn over the runs that have the same runtime and app under the same load on the same machine. A load with a fixed rate stays the same from run to run."))];
  }
  const texts = ["Each dot is a run, the oldest on the left; the line is its 95 % interval. Runs belong together where runtime, app, load and machine are the same."];
  if (rows.rows.some((row) => row.runs.length < rows.runs_min)) {
    texts.push(`A lasting change is looked for in rows that ${rows.runs_min} runs or more have.`);
  }
  if (rows.older > 0) texts.push(`${format.numberOf(rows.older, "older run")} not read: \`stampede history\` reads all of them.`);
  return [h("p", { class: "about" }, ...texts.flatMap((text) => [...withCode(text), " "]))];
}

function rowOf(rows: OverRuns, row: RowOverRuns): HTMLElement {
  const title = `${row.runtime} · ${row.app} · ${row.load}`;
  const days = [row.runs[0], row.runs.at(-1)].map((run) => run?.started_at.slice(0, 10) ?? "");
  const span = days[0] === days[1] ? days[0] : `${days[0]} to ${days[1]}`;
  const told = row.figures.flatMap((figure) => figure.changes.map((change) => ({ figure, change })));
  return h("section", { class: "panel" },
    h("h2", {}, title, row.is_control ? h("span", { class: "about" }, "control") : null),
    h("p", { class: "about" }, [format.numberOf(row.runs.length, "run"), span, row.machine].filter(Boolean).join(" · ")),
    told.length > 0 ? h("ul", { class: "changes" }, ...told.map(({ figure, change }) => changeOf(figure, change))) : null,
    h("div", { class: "over-runs" }, ...row.figures.filter(varies).map((figure) => chart(rows, row, figure))));
}

/** Whether a figure is worth a chart: a share of 100 % in every run says nothing. */
function varies(figure: FigureOverRuns): boolean {
  const values = figure.points.flatMap((point) => point.value ?? []);
  const [first = 0] = values;
  return figure.changes.length > 0 || values.some((value) => Math.abs(value / first - 1) >= 0.001);
}

function changeOf(figure: FigureOverRuns, change: ChangeOverRuns): HTMLElement {
  return h("li", { class: change.is_worse ? "bad" : "good" },
    h("p", {}, h("strong", {}, `${figure.title}: `), format.tied(change.text)),
    change.differences.length > 0 ? h("ul", {}, ...change.differences.map((one) => h("li", {}, ...withCode(one)))) : null);
}

const WIDTH = 480;
const HEIGHT = 150;
const TOP = 12;
const BOTTOM = 22;
const EDGE = 14;

/** The lowest and highest that are drawn: a tenth of the middle at least, so that noise does not fill
 * the chart. */
export function heights(figure: Pick<FigureOverRuns, "points">): { low: number; high: number } {
  const ends = figure.points.flatMap(({ value, interval }) => value === null ? [] : [value, ...(interval ?? [])]);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const middle = (least + most) / 2;
  const half = Math.max((most - least) / 2, Math.abs(middle) * 0.05, Number.MIN_VALUE);
  return { low: middle - half, high: middle + half };
}

function chart(rows: OverRuns, row: RowOverRuns, figure: FigureOverRuns): HTMLElement {
  const { low, high } = heights(figure);
  const x = (at: number) => row.runs.length < 2 ? WIDTH / 2 : EDGE + (at / (row.runs.length - 1)) * (WIDTH - 2 * EDGE);
  const y = (value: number) => TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const newest = [...figure.points].reverse().find((point) => point.value !== null);
  const parts = [
    s("line", { class: "rail", x1: 0, x2: WIDTH, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
    ...figure.changes.flatMap((change) => {
      const at = change.at > 0 ? (x(change.at - 1) + x(change.at)) / 2 : x(0);
      return s("line", { class: change.is_worse ? "change bad" : "change good", x1: at, x2: at, y1: 2, y2: HEIGHT - BOTTOM },
        s("title", {}, change.text));
    }),
    ...figure.points.flatMap((_, at) => dot(rows, row, figure, at, x(at), y)),
    s("text", { class: "day", x: 0, y: HEIGHT - 5 }, day(row, 0)),
    s("text", { class: "day", x: WIDTH, y: HEIGHT - 5, "text-anchor": "end" }, day(row, row.runs.length - 1)),
  ];
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `${figure.title} over ${row.runs.length} runs` }, ...parts);
  return h("figure", {},
    h("figcaption", {}, h("strong", {}, figure.title), h("span", {}, newest?.text ?? format.NONE)),
    svg as unknown as HTMLElement);
}

function day(row: RowOverRuns, at: number): string {
  return row.runs[at]?.started_at.slice(0, 10) ?? "";
}

/** A run's dot with its interval, which leads to the run. */
function dot(rows: OverRuns, row: RowOverRuns, figure: FigureOverRuns, at: number, x: number, y: (value: number) => number): SVGElement[] {
  const [point, run] = [figure.points[at], row.runs[at]];
  if (!point || !run || point.value === null) return [];
  const changed = run.changed_files ? ` and ${format.numberOf(run.changed_files, "changed file")}` : "";
  const commit = run.commit ? `\ncommit ${run.commit.slice(0, 12)}${changed}` : "";
  const words = `${point.text}\n${run.name}\n${format.date(run.started_at)}${commit}`;
  const parts = [
    // What the pointer finds is larger than what is drawn.
    s("circle", { class: "reach", cx: x, cy: y(point.value), r: 9 }),
    point.interval ? s("line", { class: "span c0", x1: x, x2: x, y1: y(point.interval[0]), y2: y(point.interval[1]) }) : null,
    s("circle", { class: "dot c0", cx: x, cy: y(point.value), r: 3.5 }),
    s("title", {}, words),
  ];
  const page = rows.pages[run.name];
  return [page ? s("a", { href: page, "aria-label": words.replaceAll("\n", ", ") }, ...parts) : s("g", {}, ...parts)];
}

// One chart: a frame with a title and controls, a uPlot that is drawn once it is near the screen,
// and the table of its data.

import uPlot from "uplot";
import { h, later, scroller } from "./dom.ts";
import * as format from "./format.ts";
import { markerPath } from "./look.ts";
import { linePath } from "./paths.ts";
import { logSteps } from "./scale.ts";
import type { Change, Store } from "./store.ts";
import { cssColour, isOnPaper } from "./theme.ts";
import { Tip } from "./tip.ts";
import { followFingers } from "./touch.ts";

/** A line of a chart. */
export interface Line {
  /** The runtime that the line belongs to. Empty: no runtime; the line is grey and always shown. */
  runtime: string;
  label: string;
  values: (number | null | undefined)[];
  /** Its trial is invalid or unfinished, so the line is faint. */
  isFaint?: boolean;
  /** Whether each point has a marker. Only for lines with few points. */
  hasPoints?: boolean;
}

export interface Lines {
  x: number[];
  lines: Line[];
  /** Vertical marks, each at an x value. */
  marks?: { runtime: string; at: number; label: string }[];
  /** The text that is shown if there are no lines. */
  instead?: string;
}

export interface Spec {
  title: string;
  /** What the chart shows, for screen readers. */
  about: string;
  note?: string;
  xWords: (x: number) => string;
  xLabel: string;
  xTicks?: (low: number, high: number) => number[];
  /** Shorter words for the ticks of x, if `xWords` is too long. */
  xShort?: (x: number) => string;
  xIsLog?: boolean;
  yWords: (y: number) => string;
  yShort: (y: number) => string;
  yIsLog?: () => boolean;
  /** The highest y that is shown; none: no limit. */
  yMax?: number;
  isTall?: boolean;
  /** Whether the chart takes a whole row. */
  isWide?: boolean;
  lines: () => Lines;
  controls?: () => Node[];
}

/** Charts that share their zoom and their cursor. */
export interface Together {
  key: string;
  range: () => [number, number] | null;
  setRange: (range: [number, number] | null) => void;
  whole: () => [number, number];
}

const GAP_ROWS = 40;
const Y_AXIS = 64;
const PAPER_WIDTH = 640;
/** Opacity of a faint line. */
const FAINT = 0.4;
/** Pixels between two markers of a dense line. */
const MARKER_EVERY = 110;

export class Chart {
  readonly element: HTMLElement;
  readonly plot: uPlot | null = null;
  private readonly holder: HTMLElement;
  private readonly behind: HTMLDetailsElement;
  private readonly table = h("div", {});
  private current: Lines | null = null;
  private isNear = false;
  private isStale = true;
  private isHeld = false;
  private readonly tip = new Tip();

  constructor(readonly store: Store, readonly spec: Spec, readonly together: Together | null) {
    this.holder = h("div", { class: spec.isTall ? "plot tall" : "plot" });
    this.behind = later("Data as a table", () => {
      this.fillTable();
      return this.table;
    });
    const controls = spec.controls?.() ?? [];
    this.element = h("figure", { class: spec.isWide ? "chart wide" : "chart", "data-key": spec.title },
      h("figcaption", {},
        h("h4", {}, spec.title),
        controls.length > 0 ? h("div", { class: "controls" }, ...controls) : null),
      this.holder,
      spec.note ? h("p", { class: "note" }, spec.note) : null,
      h("div", { class: "behind" }, this.behind));
    near.observe(this.element, this);
    store.listen((change) => this.hear(change));
    addEventListener("resize", () => this.fit(), { signal: store.signal });
    store.signal.addEventListener("abort", () => {
      near.forget(this.element);
      this.destroy();
    });
  }

  private hear(change: Change): void {
    if (change === "lines") this.showLines();
    else if (change === "theme") this.refresh();
    else if (change === "there" && this.isSeen()) this.setNear(true);
  }

  /** Called when the page scrolls the chart near the screen, or away from it. */
  setNear(isNear: boolean): void {
    this.isNear = isNear;
    if (isNear && this.isStale) this.draw();
  }

  /** Called when the chart's data, colours or scale have changed. */
  refresh(): void {
    this.isStale = true;
    if (isOnPaper() || this.isNear) this.draw();
  }

  /** Called when the lines have only become longer. Then the plot need not be made again. */
  grow(): void {
    const { plot, current } = this;
    if (!plot || !current || !this.isNear) return this.refresh();
    const next = this.spec.lines();
    if (shapeOf(next) !== shapeOf(current)) return this.refresh();
    this.current = next;
    const data = [next.x, ...next.lines.map((line) => line.values)] as uPlot.AlignedData;
    const range = this.together?.range() ?? this.together?.whole();
    plot.batch(() => {
      plot.setData(data, !range);
      // Sets x even if it is unchanged, because this also scales y.
      if (range) plot.setScale("x", { min: range[0], max: range[1] });
    });
    if (this.behind.open) this.fillTable();
  }

  /** Called when the shared range has changed. A chart far away follows when it comes near. */
  applyRange(): void {
    if (!this.plot || !this.together) return;
    if (!this.isNear) {
      this.isStale = true;
      return;
    }
    const [min, max] = this.together.range() ?? this.together.whole();
    this.plot.setScale("x", { min, max });
  }

  /** Hides the cursor while the range moves. Its points and values, in all charts, are DOM elements
   * and cost as much time as the lines. */
  holdCursor(): void {
    if (this.isHeld) return;
    this.isHeld = true;
    this.plot?.setCursor({ left: -10, top: -10 }, true);
  }

  releaseCursor(): void {
    this.isHeld = false;
  }

  /** Moves the cursor of all charts to the pointer, if the pointer is over this chart. */
  pointAgain(): void {
    if (this.plot) this.tip.point(this.plot);
  }

  /** Whether any part of the plot is on the screen. */
  isSeen(): boolean {
    const { top, bottom } = this.holder.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  private draw(): void {
    this.isStale = false;
    this.destroy();
    this.current = this.spec.lines();
    const { lines, instead } = this.current;
    this.holder.replaceChildren();
    this.holder.classList.toggle("bare", lines.length === 0);
    if (this.behind.open) this.fillTable();
    if (lines.length === 0) {
      this.holder.append(h("p", { class: "instead" }, instead ?? "There is nothing to draw."));
      return;
    }
    const data = [this.current.x, ...lines.map((line) => line.values)] as uPlot.AlignedData;
    const plot = new uPlot(this.options(this.current), data, this.holder);
    (this as { plot: uPlot | null }).plot = plot;
    this.describe(plot);
    this.tip.attach(plot, this);
    followFingers(plot, this);
  }

  private destroy(): void {
    this.plot?.destroy();
    (this as { plot: uPlot | null }).plot = null;
  }

  /** The drawn lines that are switched on, with their places in the plot's data. */
  shown(): { line: Line; place: number }[] {
    const lines = this.current?.lines ?? [];
    return lines.map((line, index) => ({ line, place: index + 1 })).filter(({ line }) => this.isOn(line));
  }

  private isOn(line: { runtime: string }): boolean {
    return line.runtime === "" || this.store.isOn(line.runtime);
  }

  private showLines(): void {
    const { plot } = this;
    if (!plot) return;
    plot.batch(() => {
      this.current?.lines.forEach((line, index) => {
        const show = this.isOn(line);
        if (plot.series[index + 1]?.show !== show) plot.setSeries(index + 1, { show });
      });
    });
    this.describe(plot);
  }

  private width(): number {
    return isOnPaper() ? PAPER_WIDTH : Math.max(200, this.holder.clientWidth);
  }

  private height(): number {
    return this.holder.clientHeight || 220;
  }

  private fit(): void {
    if (this.plot && this.plot.width !== this.width()) {
      this.plot.setSize({ width: this.width(), height: this.height() });
    }
  }

  private describe(plot: uPlot): void {
    const names = this.shown().map(({ line }) => line.label);
    const keys = this.together ? " Arrow keys move the cursor; plus, minus and 0 zoom." : "";
    plot.root.setAttribute("role", "group");
    plot.root.setAttribute("aria-label", `${this.spec.title}. ${this.spec.about}.${keys}`);
    plot.root.setAttribute("tabindex", "0");
    const canvas = plot.root.querySelector("canvas");
    canvas?.setAttribute("role", "img");
    canvas?.setAttribute("aria-label", `${this.spec.title}: a line each for ${format.listOf(names)}.`);
  }

  private options(of: Lines): uPlot.Options {
    const { spec, together } = this;
    const isLog = spec.yIsLog?.() ?? false;
    const range = together ? (together.range() ?? together.whole()) : null;
    return {
      width: this.width(),
      height: this.height(),
      padding: [of.marks ? 20 : 10, 12, 0, 0],
      legend: { show: false },
      cursor: this.cursor(),
      scales: {
        x: { time: false, distr: spec.xIsLog ? 3 : 1, ...(range ? { min: range[0], max: range[1], auto: false } : { range: (_, low, high) => spread(low, high, spec.xIsLog) }) },
        y: { distr: isLog ? 3 : 1, range: (_, low, high) => yRange(low, high, isLog, spec.yMax) },
      },
      axes: [this.xAxis(), this.yAxis(isLog)],
      series: [{}, ...of.lines.map((line) => this.series(line))],
      hooks: {
        draw: [(plot) => this.drawMarkers(plot), (plot) => this.drawMarks(plot)],
        setSelect: [(plot) => this.select(plot)],
      },
    };
  }

  private cursor(): uPlot.Cursor {
    const { together } = this;
    const fill = cssColour("--surface");
    const cursor: uPlot.Cursor = {
      y: false,
      drag: { x: together !== null, y: false, setScale: false },
      focus: { prox: 24 },
      points: { size: 7, width: 2, fill: () => fill },
      dataIdx: (plot, place, at) => nearest(plot.data[place], at),
      bind: {
        mousemove: (_, __, handler) => (event) => {
          if (!this.isHeld) handler(event);
          return null;
        },
        dblclick: () => () => {
          together?.setRange(null);
          return null;
        },
      },
    };
    if (together) {
      const isMove = (type: string) => type === "mousemove" || type === "mouseleave";
      cursor.sync = { key: together.key, setSeries: false, scales: ["x", null], filters: { pub: isMove, sub: isMove } };
    }
    return cursor;
  }

  private select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4 || !this.together) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.together.setRange([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  }

  private axis(): uPlot.Axis {
    return {
      stroke: cssColour("--muted"),
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      grid: { stroke: cssColour("--grid"), width: 1 },
      ticks: { show: false },
    };
  }

  private xAxis(): uPlot.Axis {
    const { spec } = this;
    const words = spec.xShort ?? spec.xWords;
    const axis: uPlot.Axis = {
      ...this.axis(), label: spec.xLabel, labelSize: 18, labelGap: 2, size: 26, space: 56,
      values: (_, ticks) => ticks.map((tick) => (tick === null ? null : words(tick))),
    };
    const { xTicks } = spec;
    if (xTicks) {
      axis.splits = (_, __, low, high) => xTicks(low, high);
      axis.filter = (_, ticks) => ticks;
    }
    return axis;
  }

  private yAxis(isLog: boolean): uPlot.Axis {
    const axis: uPlot.Axis = {
      ...this.axis(), size: Y_AXIS, gap: 6, space: 34,
      values: (_, ticks) => ticks.map((tick) => (tick === null ? null : this.spec.yShort(tick))),
    };
    if (isLog) {
      axis.splits = (_, __, low, high) => logSteps(low, high);
      axis.filter = (_, ticks) => ticks;
    }
    return axis;
  }

  private series(line: Line): uPlot.Series {
    const look = line.runtime ? this.store.look(line.runtime) : null;
    const colour = look ? cssColour(`--${look.colour}`) : cssColour("--muted");
    return {
      label: line.label,
      show: this.isOn(line),
      // The alpha is part of the colour, because uPlot sets a series' alpha as the cursor moves.
      stroke: line.isFaint ? `${colour}${Math.round(FAINT * 255).toString(16)}` : colour,
      width: isDense(line) ? 1 : look ? 1.75 : 1.25,
      dash: look && !isDense(line) ? look.dash : look ? [] : [3, 3],
      points: { show: false },
      paths: linePath,
    };
  }

  /** Draws markers along lines whose rows are too dense for dashes, to tell the lines apart. */
  private drawMarkers(plot: uPlot): void {
    const { ctx, scales } = plot;
    const dpr = devicePixelRatio;
    ctx.save();
    ctx.setLineDash([]);
    for (const { line, place } of this.shown()) {
      if (!line.runtime || !(line.hasPoints || isDense(line))) continue;
      const look = this.store.look(line.runtime);
      const marker = new Path2D(markerPath(look.marker, 3.2 * dpr));
      const all = new Path2D();
      for (const at of line.hasPoints ? line.values.keys() : sparse(plot, place)) {
        const [value, when] = [plot.data[place]?.[at], plot.data[0][at]];
        if (typeof value !== "number" || when === undefined) continue;
        if (when < (scales.x?.min ?? -Infinity) || when > (scales.x?.max ?? Infinity)) continue;
        all.addPath(marker, { e: plot.valToPos(when, "x", true), f: plot.valToPos(value, "y", true) });
      }
      ctx.fillStyle = ctx.strokeStyle = cssColour(`--${look.colour}`);
      ctx.lineWidth = 1.5 * dpr;
      ctx.globalAlpha = line.isFaint ? FAINT : 1;
      ctx.fill(all);
      ctx.stroke(all);
    }
    ctx.restore();
  }

  /** Draws vertical marks with labels, each label a line lower than the one before. */
  private drawMarks(plot: uPlot): void {
    const marks = (this.current?.marks ?? []).filter((mark) => this.isOn(mark));
    const { ctx, bbox } = plot;
    const dpr = devicePixelRatio;
    ctx.save();
    ctx.font = `${11 * dpr}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.lineWidth = 1.5 * dpr;
    [...marks].sort((a, b) => a.at - b.at).forEach((mark, row) => {
      const x = Math.round(plot.valToPos(mark.at, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      const look = this.store.look(mark.runtime);
      const y = bbox.top + (row % 6) * 14 * dpr;
      ctx.strokeStyle = ctx.fillStyle = cssColour(`--${look.colour}`);
      ctx.setLineDash(look.dash.map((length) => length * dpr));
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      this.markLabel(plot, mark.label, x, y + 4 * dpr);
    });
    ctx.restore();
  }

  /** Writes a label on the side that has room, on a background that keeps it readable over lines. */
  private markLabel({ ctx, bbox }: uPlot, text: string, x: number, y: number): void {
    const dpr = devicePixelRatio;
    const width = ctx.measureText(text).width;
    const fitsRight = x + width + 8 * dpr < bbox.left + bbox.width;
    const left = fitsRight ? x + 4 * dpr : x - width - 4 * dpr;
    const colour = ctx.fillStyle;
    ctx.fillStyle = cssColour("--surface");
    ctx.fillRect(left - 2 * dpr, y - 9 * dpr, width + 4 * dpr, 13 * dpr);
    ctx.fillStyle = colour;
    ctx.fillText(text, left, y);
  }

  /** Fills the table with at most as many rows as people can read; the downloads have all. A table
   * that exists keeps its scroll position: only its rows are replaced. */
  private fillTable(): void {
    const made = this.rows();
    const old = this.table.querySelector("table");
    if (old && made instanceof HTMLTableElement) old.replaceWith(made);
    else this.table.replaceChildren(made instanceof HTMLTableElement ? scroller(`Data of ${this.spec.title}`, made) : made);
  }

  private rows(): Node {
    const { x, lines } = this.current ?? this.spec.lines();
    if (lines.length === 0) return h("p", {}, "There are no data.");
    const every = Math.ceil(x.length / 120);
    const rows = x.map((at, row) => ({ at, row })).filter(({ row }) => row % every === 0);
    const cell = (value: number | null | undefined) =>
      h("td", {}, value === null || value === undefined ? format.NONE : this.spec.yWords(value));
    return h("table", { class: "figures" },
      h("caption", {}, every > 1 ? `${this.spec.title}: every ${every}th row` : this.spec.title),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, this.spec.xLabel),
        ...lines.map((line) => h("th", { scope: "col" }, line.label)))),
      h("tbody", {}, ...rows.map(({ at, row }) => h("tr", {},
        h("th", { scope: "row" }, this.spec.xWords(at)), ...lines.map((line) => cell(line.values[row]))))));
  }
}

/** The properties whose change requires a new plot, as one text. */
function shapeOf({ lines, marks }: Lines): string {
  const each = lines.map((line) => [line.runtime, line.label, line.isFaint, isDense(line)]);
  return JSON.stringify([each, marks ?? null]);
}

/** Rows at regular distances along a line. Each line begins at a different place, so that lines
 * close together do not hide each other's markers. */
function sparse(plot: uPlot, place: number): number[] {
  const rows: number[] = [];
  const width = plot.bbox.width / devicePixelRatio;
  for (let x = ((place * 0.37) % 1) * MARKER_EVERY; x < width; x += MARKER_EVERY) {
    rows.push(nearest(plot.data[place], plot.posToIdx(x)));
  }
  return rows;
}

/** Whether the rows are closer than dashes are long. Dashes would then be noise, and slow to draw. */
function isDense(line: Line): boolean {
  return line.values.length > 150;
}

/** Adds a little room at both ends. */
function spread(low: number, high: number, isLog = false): [number, number] {
  if (isLog) return [low, Math.max(high, low * 10)];
  const room = (high - low || 1) * 0.03;
  return [low - room, high + room];
}

function yRange(low: number | null, high: number | null, isLog: boolean, most?: number): [number, number] {
  if (low === null || high === null) return isLog ? [1, 10] : [0, 1];
  if (!isLog) return [0, most !== undefined && high <= most ? most : (high || 1) * 1.06];
  const from = low > 0 ? low : Math.max(high / 1000, 1e-3);
  return [from / 1.15, Math.max(high, from * 2) * 1.15];
}

/** The nearest row with a value. Lines read at other times have gaps between their values. */
function nearest(values: ArrayLike<unknown> | undefined, at: number): number {
  for (let away = 0; values && away < GAP_ROWS; away += 1) {
    if (typeof values[at - away] === "number") return at - away;
    if (typeof values[at + away] === "number") return at + away;
  }
  return at;
}

/** Tells charts when they come near the screen. Before that, none is drawn. */
class Near {
  private readonly charts = new Map<Element, Chart>();
  private readonly observer = new IntersectionObserver((entries) => {
    for (const entry of entries) this.charts.get(entry.target)?.setNear(entry.isIntersecting);
  }, { rootMargin: "300px 0px" });

  observe(element: Element, chart: Chart): void {
    this.charts.set(element, chart);
    this.observer.observe(element);
  }

  forget(element: Element): void {
    this.charts.delete(element);
    this.observer.unobserve(element);
  }
}

const near = new Near();

/** Joins lines with different x values into one table. */
export function joined(parts: { x: number[]; line: Line }[]): Lines {
  const drawn = parts.filter(({ x }) => x.length > 0);
  const first = drawn[0];
  if (!first) return { x: [], lines: [] };
  if (drawn.every(({ x }) => isSame(x, first.x))) {
    return { x: first.x, lines: drawn.map(({ line }) => line) };
  }
  const tables = drawn.map(({ x, line }) => [x, line.values] as unknown as uPlot.AlignedData);
  const [x, ...columns] = uPlot.join(tables);
  const lines = drawn.map(({ line }, index) => ({ ...line, values: columns[index] as Line["values"] }));
  return { x: x as number[], lines };
}

function isSame(a: number[], b: number[]): boolean {
  return a === b || (a.length === b.length && a.every((value, index) => value === b[index]));
}


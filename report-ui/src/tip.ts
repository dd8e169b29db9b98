// The values at the cursor of a chart: of all lines that are on, the largest first. The pointer and
// the arrow keys move the cursor.

import type uPlot from "uplot";
import type { Chart } from "./chart.ts";
import { h } from "./dom.ts";
import * as format from "./format.ts";
import { swatch } from "./look.ts";
import { panned, zoomed } from "./scale.ts";

export class Tip {
  private readonly element = h("div", { class: "tip", hidden: true });
  private isHere = false;
  private frame = 0;
  /** The last position of the pointer on the screen. */
  private at: [number, number] = [0, 0];

  attach(plot: uPlot, chart: Chart): void {
    this.element.hidden = true;
    plot.over.append(this.element);
    plot.over.addEventListener("mouseenter", () => { this.isHere = true; });
    plot.over.addEventListener("mouseleave", () => this.hide());
    plot.over.addEventListener("mousemove", ({ clientX, clientY }) => { this.at = [clientX, clientY]; });
    plot.root.addEventListener("focus", () => this.element.setAttribute("role", "status"));
    plot.root.addEventListener("blur", () => {
      this.element.removeAttribute("role");
      this.hide();
    });
    plot.root.addEventListener("keydown", (event) => this.key(event, plot, chart));
    const { hooks } = plot;
    (hooks.setCursor ??= []).push(() => this.later(plot, chart));
    panByDrag(plot, chart);
  }

  /** Moves the cursor of all charts to the pointer, or to the place that the keys chose. */
  point(plot: uPlot): void {
    if (!this.isHere) return;
    const [clientX, clientY] = this.at;
    plot.over.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX, clientY }));
  }

  private hide(): void {
    this.isHere = false;
    this.element.hidden = true;
  }

  /** Updates once per frame, because pointers report more often than frames are drawn. */
  private later(plot: uPlot, chart: Chart): void {
    if (!this.isHere || this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (plot === chart.plot) this.update(plot, chart);
    });
  }

  private update(plot: uPlot, chart: Chart): void {
    const { idx, idxs, left = -1 } = plot.cursor;
    const x = idx === null || idx === undefined ? undefined : plot.data[0][idx];
    if (!this.isHere || x === undefined || left < 0) {
      this.element.hidden = true;
      return;
    }
    const rows = chart.shown().map(({ line, place }) => {
      const at = idxs?.[place] ?? idx;
      const value = at === null || at === undefined ? null : plot.data[place]?.[at];
      return { line, value: typeof value === "number" ? value : null };
    });
    rows.sort((a, b) => (b.value ?? -1) - (a.value ?? -1));
    this.element.replaceChildren(
      h("b", {}, chart.spec.xWords(x)),
      ...rows.map(({ line, value }) => h("span", { class: "tip-row" },
        line.runtime ? (swatch(chart.store.look(line.runtime)) as unknown as Node) : h("span", { class: "swatch" }),
        h("span", { class: "tip-name" }, line.label),
        h("span", {}, value === null ? format.NONE : chart.spec.yWords(value)))));
    this.element.hidden = false;
    this.placeAt(plot, left);
  }

  private placeAt(plot: uPlot, left: number): void {
    const { clientWidth } = plot.over;
    const width = this.element.offsetWidth;
    const x = left + width + 16 > clientWidth ? Math.max(-40, left - width - 12) : left + 12;
    this.element.style.transform = `translate(${Math.round(x)}px, 4px)`;
  }

  private key(event: KeyboardEvent, plot: uPlot, chart: Chart): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { together } = chart;
    const moves: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 };
    const move = moves[event.key];
    if (move !== undefined) this.step(plot, move);
    else if (together && (event.key === "+" || event.key === "=")) zoom(chart, 0.5);
    else if (together && event.key === "-") zoom(chart, 2);
    else if (together && (event.key === "0" || event.key === "Escape")) together.setRange(null);
    else return;
    event.preventDefault();
  }

  private step(plot: uPlot, by: number): void {
    const xs = plot.data[0];
    const at = plot.cursor.idx;
    const { min, max } = plot.scales.x ?? {};
    const first = xs.findIndex((x) => x >= (min ?? 0));
    const place = at === null || at === undefined ? first : at + by;
    const x = xs[Math.min(xs.length - 1, Math.max(0, place))];
    if (x === undefined || x < (min ?? -Infinity) || x > (max ?? Infinity)) return;
    this.isHere = true;
    plot.setCursor({ left: plot.valToPos(x, "x"), top: 10 }, true);
    // uPlot passes only the pointer's moves to charts with a shared cursor.
    plot.over.dispatchEvent(new MouseEvent("mousemove", {
      bubbles: true,
      clientX: plot.over.getBoundingClientRect().left + plot.valToPos(x, "x"),
      clientY: plot.over.getBoundingClientRect().top + 10,
    }));
  }
}

export function zoom(chart: { together: Chart["together"] }, factor: number): void {
  const { together } = chart;
  if (!together) return;
  const whole = together.whole();
  together.setRange(zoomed(together.range() ?? whole, whole, factor));
}

/** Moves a zoomed range: drag with Shift, or turn a wheel sideways. */
function panByDrag(plot: uPlot, chart: Chart): void {
  const { together } = chart;
  if (!together) return;
  const move = (pixels: number) => {
    const range = together.range();
    if (!range) return;
    const each = (range[1] - range[0]) / plot.over.clientWidth;
    together.setRange(panned(range, together.whole(), pixels * each));
  };
  plot.over.addEventListener("mousedown", (event) => {
    if (!event.shiftKey || !together.range()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    let from = event.clientX;
    const drag = (moved: MouseEvent) => {
      move(from - moved.clientX);
      from = moved.clientX;
    };
    addEventListener("mousemove", drag);
    addEventListener("mouseup", () => removeEventListener("mousemove", drag), { once: true });
  }, { capture: true });
  plot.over.addEventListener("wheel", (event) => {
    if (Math.abs(event.deltaX) <= Math.abs(event.deltaY) || !together.range()) return;
    event.preventDefault();
    move(event.deltaX);
  }, { passive: false });
}

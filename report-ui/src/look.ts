// How each runtime looks in all charts: a colour, a dash pattern and a marker, so that colours are
// not needed to tell lines apart. base.css has the colours, for light and dark.

import type { Page } from "./data.ts";
import { h, s } from "./dom.ts";

/** The number of colours in base.css. */
const COLOURS = 10;

const DASHES: number[][] = [[], [9, 4], [2, 3], [11, 3, 2, 3], [5, 3]];

export type Marker = "circle" | "square" | "triangle" | "diamond" | "down" | "cross" | "plus";
const MARKERS: Marker[] = ["circle", "square", "triangle", "diamond", "down", "cross", "plus"];

export interface Look {
  /** The class that sets `--c`. */
  colour: string;
  dash: number[];
  marker: Marker;
}

/** The look of the runtime at a place in the plan. With several runs, the colour stands for the
 * runtime, and dash and marker stand for the run. */
export function lookAt(place: number, run: number | null): Look {
  const again = Math.floor(place / COLOURS);
  // When the colours start again, dashes and markers shift, so that no two lines look the same.
  const dash = run === null ? place + again : run + 2 * again;
  const marker = run === null ? place : run + 3 * again;
  return {
    colour: `c${place % COLOURS}`,
    dash: DASHES[dash % DASHES.length] ?? [],
    marker: MARKERS[marker % MARKERS.length] ?? "circle",
  };
}

/** The look of a run, for any runtime: grey. */
export function lookOfRun(run: number): Look {
  return { ...lookAt(0, run), colour: "grey" };
}

/** All runtimes of the page: in the plan's order, then the others. */
export function runtimesOf(page: Page): string[] {
  const names = [
    ...page.runs.flatMap((run) => run.runtimes),
    ...page.evidence.runtimes.map((runtime) => runtime.name),
    ...page.summary.cases.map((entry) => entry.runtime),
  ];
  return [...new Set(names)];
}

/** The path of a marker around 0,0. */
export function markerPath(marker: Marker, r: number): string {
  const q = r * 1.15;
  switch (marker) {
    case "circle":
      return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    case "square":
      return `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`;
    case "triangle":
      return `M0 ${-q}L${q} ${r}H${-q}z`;
    case "down":
      return `M0 ${q}L${q} ${-r}H${-q}z`;
    case "diamond":
      return `M0 ${-q * 1.15}L${q * 1.15} 0L0 ${q * 1.15}L${-q * 1.15} 0z`;
    case "cross":
      return `M${-r} ${-r}L${r} ${r}M${r} ${-r}L${-r} ${r}`;
    case "plus":
      return `M0 ${-q}V${q}M${-q} 0H${q}`;
  }
}

/** A marker for use in a drawing. All markers have a stroke, because crosses have no area. */
export function markerMark(look: Look, r: number, extra = ""): SVGElement {
  return s("path", { d: markerPath(look.marker, r), class: `marker ${look.colour} ${extra}` });
}

/** The sample of a line before a runtime's name. */
export function swatch(look: Look): SVGElement {
  const line = s("line", {
    x1: 0, x2: 28, y1: 7, y2: 7, class: `line ${look.colour}`,
    "stroke-dasharray": look.dash.join(" ") || null,
  });
  const mark = s("g", { transform: "translate(14 7)" }, markerMark(look, 3.4));
  return s("svg", { class: "swatch", viewBox: "0 0 28 14", width: 28, height: 14, "aria-hidden": "true" },
    line, mark);
}

/** The colour alone: stands for a runtime in any run. */
export function stripe(look: Look): SVGElement {
  const line = s("line", { x1: 2, x2: 26, y1: 7, y2: 7, class: `line stripe ${look.colour}` });
  return s("svg", { class: "swatch", viewBox: "0 0 28 14", width: 28, height: 14, "aria-hidden": "true" }, line);
}

/** A runtime's name with its sample. */
export function named(look: Look, name: string): HTMLElement {
  return h("span", { class: "named" }, swatch(look) as unknown as Node, h("span", {}, name));
}

// Dots with intervals on a horizontal scale: in the ranking, and as the distribution over trials.
// Positions are percentages, so that they fit any width and paper.

import { s } from "./dom.ts";
import { markerMark, type Look } from "./look.ts";
import { place } from "./scale.ts";

export interface Scale {
  low: number;
  high: number;
  isLog: boolean;
}

export interface Dot {
  value: number;
  /** The trial did not count. */
  isInvalid?: boolean;
  /** The text that the pointer shows. */
  words?: string;
}

const HEIGHT = 22;

/** One row: a bar for the interval, a line for the value, a marker for each trial. */
export function dotRow(
  scale: Scale, look: Look, value: number | null, interval: [number, number] | null, dots: Dot[],
): SVGElement {
  const at = (of: number) => `${place(of, scale.low, scale.high, scale.isLog)}%`;
  const y = HEIGHT / 2;
  const parts: SVGElement[] = [s("line", { x1: "0%", x2: "100%", y1: y, y2: y, class: "rail" })];
  if (interval) {
    parts.push(s("line", { x1: at(interval[0]), x2: at(interval[1]), y1: y, y2: y, class: `span ${look.colour}` }));
  }
  if (value !== null && dots.length > 0) {
    parts.push(s("line", { x1: at(value), x2: at(value), y1: 2, y2: HEIGHT - 2, class: `middle ${look.colour}` }));
  }
  for (const dot of dots) {
    const mark = markerMark(look, 3.6, dot.isInvalid ? "hollow" : "");
    if (dot.words) mark.append(s("title", {}, dot.words));
    // Only a nested drawing lets a path be placed by a percentage.
    parts.push(s("svg", { x: at(dot.value), y, overflow: "visible" }, mark));
  }
  if (value !== null && dots.length === 0) {
    parts.push(s("svg", { x: at(value), y, overflow: "visible" }, markerMark(look, 4.2)));
  }
  return s("svg", { class: "dots", width: "100%", height: HEIGHT, "aria-hidden": "true" }, ...parts);
}

// The path of a line. Pure but for uPlot's scales.

import type uPlot from "uplot";

/** A straight line from row to row; of rows in the same column of pixels the lowest and the highest.
 * `null` is a break, and no clip over it, as uPlot's own: a path that is clipped by another takes a
 * browser without a graphics card three times as long. `undefined` is no row of this line. */
export function linePath(plot: uPlot, place: number, from: number, to: number): uPlot.Series.Paths {
  const stroke = new Path2D();
  const [xs, ys] = [plot.data[0], plot.data[place] ?? []];
  const [xAt, yAt] = [placer(plot, "x"), placer(plot, "y")];
  let [column, isBegun] = [NaN, false];
  let [low, high] = [from, from];
  const draw = (row: number) => {
    const y = Math.round(yAt(ys[row] ?? 0));
    if (isBegun) stroke.lineTo(column, y);
    else stroke.moveTo(column, y);
    isBegun = true;
  };
  const flush = () => {
    if (Number.isNaN(column)) return;
    draw(Math.min(low, high));
    if (low !== high) draw(Math.max(low, high));
    column = NaN;
  };
  for (let row = from; row <= to; row += 1) {
    const y = ys[row];
    if (y === undefined) continue;
    if (y === null) {
      flush();
      isBegun = false;
      continue;
    }
    const own = Math.round(xAt(xs[row] ?? 0));
    if (own !== column) {
      flush();
      [column, low, high] = [own, row, row];
    } else if (y < (ys[low] ?? 0)) low = row;
    else if (y > (ys[high] ?? 0)) high = row;
  }
  flush();
  return { stroke, fill: null, clip: null, band: null, flags: 1 };
}

/** From values of a scale to pixels of the canvas. */
function placer(plot: uPlot, scale: "x" | "y"): (value: number) => number {
  const { distr, min, max } = plot.scales[scale] ?? {};
  const at = (value: number) => plot.valToPos(value, scale, true);
  if (distr !== 1 || typeof min !== "number" || typeof max !== "number" || max === min) return at;
  // Thousands of them a frame: worth two multiplications in place of uPlot's way through its settings.
  const first = at(min);
  const each = (at(max) - first) / (max - min);
  return (value) => first + (value - min) * each;
}

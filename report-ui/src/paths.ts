// Builds the path of a line. Depends on nothing but uPlot's scales.

import type uPlot from "uplot";

/** A straight line from row to row. Of rows in the same column of pixels, it takes the lowest and
 * the highest. `null` breaks the line. Unlike uPlot, it sets no clip over the gap: without a
 * graphics card, a clipped path takes the browser three times as long. `undefined` is a row that
 * this line does not have. */
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

/** A function from values of a scale to pixels of the canvas. */
function placer(plot: uPlot, scale: "x" | "y"): (value: number) => number {
  const { distr, min, max } = plot.scales[scale] ?? {};
  const at = (value: number) => plot.valToPos(value, scale, true);
  if (distr !== 1 || typeof min !== "number" || typeof max !== "number" || max === min) return at;
  // Thousands of calls a frame: two multiplications are cheaper than uPlot's lookup of its
  // settings.
  const first = at(min);
  const each = (at(max) - first) / (max - min);
  return (value) => first + (value - min) * each;
}

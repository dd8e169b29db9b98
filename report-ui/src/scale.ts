// Scales and arithmetic for charts. No DOM.

/** The position of a value on a scale from 0 to 100, limited to the scale. */
export function place(value: number, low: number, high: number, isLog: boolean): number {
  const of = (x: number) => (isLog ? Math.log(Math.max(x, low)) : x);
  const span = of(high) - of(low);
  if (!(span > 0)) return 0;
  return Math.min(100, Math.max(0, ((of(value) - of(low)) / span) * 100));
}

/** The ends of a scale for values and intervals. It is logarithmic if a linear scale would hide most
 * values. */
export function extent(
  values: number[], intervals: ([number, number] | null)[],
): { low: number; high: number; isLog: boolean } {
  const all = values.filter((value) => value > 0);
  if (all.length === 0) return { low: 0, high: 1, isLog: false };
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const ends = intervals.flatMap((ends) => ends ?? []);
  const isLog = most / least > 25;
  if (isLog) return { low: least / 2, high: Math.min(Math.max(most, ...ends), most * 4) * 1.1, isLog };
  // With few trials an interval may be far wider than all values. It is then cut off; values are
  // not.
  return { low: 0, high: Math.min(Math.max(most, ...ends), most * 1.6) * 1.04, isLog };
}

/** `1 / (1 - q)` of a percentile: 1, 2, 10, 100 for 0, 50, 90 and 99. */
export function tail(percentile: number, planned: number): number {
  // The slowest of n requests is placed where one request in n is this slow.
  return percentile >= 100 ? Math.max(planned, 1) : 100 / (100 - percentile);
}

/** The percentile's name for a result of [`tail`]: `p50`, `p99.9`. */
export function tailWords(x: number): string {
  const percentile = 100 - 100 / x;
  return `p${Number(percentile.toFixed(Math.max(0, Math.ceil(Math.log10(x)) - 2)))}`;
}

/** Round steps for an axis from 0 to `high`, about `most` of them. */
export function steps(high: number, most: number): number[] {
  if (!(high > 0)) return [0];
  const rough = high / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough) ?? power * 10;
  const found: number[] = [];
  for (let at = 0; at <= high * 1.0001; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** Powers of ten within a range; steps of 1, 2, 5 if the range is narrow. */
export function logSteps(low: number, high: number): number[] {
  const found: number[] = [];
  const wide = high / low > 1000;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const by of wide ? [1] : [1, 2, 5]) {
      const at = by * 10 ** power;
      if (at >= low && at <= high) found.push(at);
    }
  }
  return found;
}

/** The median; `null` for an empty list. Of an even number, the lower one, which was measured. */
export function median(values: number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

/** Sums columns row by row. The sum is `null` if a column has no value in that row. */
export function sums(columns: (number | null)[][]): (number | null)[] {
  const length = Math.max(0, ...columns.map((column) => column.length));
  return Array.from({ length }, (_, row) => {
    let sum = 0;
    for (const column of columns) {
      const value = column[row];
      if (value === null || value === undefined) return null;
      sum += value;
    }
    return sum;
  });
}

/** Zooms a range by a factor around its middle, limited to the whole. */
export function zoomed(
  range: [number, number], whole: [number, number], factor: number, around?: number,
): [number, number] | null {
  const middle = around ?? (range[0] + range[1]) / 2;
  const low = middle - (middle - range[0]) * factor;
  const high = middle + (range[1] - middle) * factor;
  if (high - low >= whole[1] - whole[0]) return null;
  return held([low, high], whole);
}

/** Moves a range, limited to the whole. */
export function panned(
  range: [number, number], whole: [number, number], by: number,
): [number, number] {
  return held([range[0] + by, range[1] + by], whole);
}

/** The range after a pinch: two places that were under the fingers are under them again. `from` and
 * `to` are shares of the width. */
export function pinched(
  range: [number, number], whole: [number, number], from: [number, number], to: [number, number],
): [number, number] | null {
  const width = range[1] - range[0];
  // The distance has a minimum: fingers that touch or cross give no usable factor.
  const apart = (pair: [number, number]) => Math.max(0.02, Math.abs(pair[1] - pair[0]));
  const middle = (pair: [number, number]) => (pair[0] + pair[1]) / 2;
  const next = width * apart(from) / apart(to);
  if (next >= whole[1] - whole[0]) return null;
  const low = range[0] + middle(from) * width - middle(to) * next;
  return held([low, low + next], whole);
}

function held([low, high]: [number, number], whole: [number, number]): [number, number] {
  const width = Math.min(high - low, whole[1] - whole[0]);
  const from = Math.min(Math.max(low, whole[0]), whole[1] - width);
  return [from, from + width];
}

// Sorts rows by a column. No DOM.

export type Key = number | string | null;
export type Direction = "ascending" | "descending";

/** The places of the rows in sorted order. Rows without a key come last in both directions; ties
 * keep their order. */
export function sorted(keys: Key[], direction: Direction): number[] {
  const sign = direction === "ascending" ? 1 : -1;
  return keys.map((_, place) => place).sort((a, b) => {
    const [left, right] = [keys[a] ?? null, keys[b] ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null) || a - b;
    return sign * compare(left, right) || a - b;
  });
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

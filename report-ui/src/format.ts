// Formats numbers for people: three significant digits, a unit, thin spaces. The rules are those of
// the table on the terminal.

import type { Figure } from "./data.generated.ts";

/** A narrow no-break space: between groups of three digits, and before a unit. */
export const THIN = "\u202f";

/** Stands for a value that is not printed. */
export const NONE = "—";

/** A whole number in groups of three: `12 345`. */
export function count(value: number): string {
  const digits = Math.abs(Math.round(value)).toString();
  const grouped = digits.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return value < 0 && grouped !== "0" ? `−${grouped}` : grouped;
}

/** Formats with three significant digits and no exponent: `0.01`, `3.59`, `12.3`, `583`, `12 345`. */
export function significant(value: number): string {
  const size = Math.abs(value);
  if (size < 9.995) return value.toFixed(2);
  if (size < 99.95) return value.toFixed(1);
  return count(value);
}

/** A time in nanoseconds: `5.4 µs`, `583 µs`, `3.59 ms`, `11.0 s`. Measured times have steps of 64 ns. */
export function time(ns: number): string {
  if (ns < 50) return `<${THIN}0.1${THIN}µs`;
  if (ns < 99.95e3) return `${(ns / 1e3).toFixed(1)}${THIN}µs`;
  // 999.5 µs and more would round to `1000 µs`.
  if (ns < 999.5e3) return `${significant(ns / 1e3)}${THIN}µs`;
  if (ns < 999.5e6) return `${significant(ns / 1e6)}${THIN}ms`;
  return `${significant(ns / 1e9)}${THIN}s`;
}

/** A time in microseconds, which is the unit of series. */
export function micros(us: number): string {
  return time(us * 1e3);
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** An amount of memory or data: `512 KiB`, `1.24 MiB`. */
export function bytes(amount: number): string {
  let value = amount;
  let unit = 0;
  while (value >= 999.5 && unit + 1 < BYTE_UNITS.length) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 ? count(value) : significant(value);
  return `${digits}${THIN}${BYTE_UNITS[unit]}`;
}

export function mebibytes(mib: number): string {
  return bytes(mib * 1048576);
}

/** A rate: `0.50`, `99.98`, `199.9`, `12 345`. */
export function rate(perSecond: number): string {
  if (perSecond < 99.995) return perSecond.toFixed(2);
  if (perSecond < 999.95) return perSecond.toFixed(1);
  return count(perSecond);
}

export function percent(value: number): string {
  return `${significant(value)}${THIN}%`;
}

/** A share of correct answers in percent. Rounded down, so that only a share of 1 gives `100`. */
export function share(of: number): string {
  const thousandths = Math.floor(of * 100_000 + 1e-6);
  if (of > 0 && thousandths === 0) return "<\u202f0.001";
  return (thousandths / 1000).toFixed(3).replace(/\.?0+$/, "");
}

export function ratio(value: number): string {
  return `${significant(value)}${THIN}×`;
}

/** `1.18 – 1.31`. */
export function interval([low, high]: [number, number], words: (value: number) => string): string {
  return `${words(low)} – ${words(high)}`;
}

/** Formats a figure as the terminal prints it. */
export function figure(of: Figure | undefined, words: (value: number) => string): string {
  if (!of) return NONE;
  switch (of.state) {
    case "exact":
      return words(of.value);
    case "at_least":
      return `≥${THIN}${words(of.value)}`;
    case "failed":
      return "failed";
    default:
      return NONE;
  }
}

/** A time since the load began, in seconds: `75 s`. */
export function seconds(value: number): string {
  const digits = Number.isInteger(value) ? count(value) : value.toFixed(1);
  return `${digits}${THIN}s`;
}

/** A short number for an axis, with three digits at most and no trailing zeros. */
export function short(value: number): string {
  if (Math.abs(value) >= 1000) return count(value);
  return String(Number(value.toPrecision(3)));
}

/** A short time for an axis, of microseconds: `0`, `500 µs`, `1.5 ms`. */
export function shortMicros(us: number): string {
  if (us === 0) return "0";
  const [value, unit] =
    us < 1 ? [us * 1e3, "ns"] : us < 1e3 ? [us, "µs"] : us < 1e6 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
  return `${short(value)}${THIN}${unit}`;
}

/** Formats RFC 3339 as `2026-11-21 11:03 UTC`. Any other text is returned unchanged. */
export function date(rfc3339: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.exec(rfc3339);
  if (!parts) return rfc3339;
  const [, day, clock, zone] = parts;
  return `${day} ${clock} ${zone === "Z" || zone === "+00:00" ? "UTC" : zone}`;
}

/** Keeps a number's unit and its groups of three on the same line as the number. */
export function tied(sentence: string): string {
  return sentence
    .replace(/(\d) (?=(?:[nµm]?s|[KMGT]?iB|%|×|\/s)(?![A-Za-z0-9]))/g, `$1${THIN}`)
    .replace(/\b(\d{1,3}) (?=\d{3}\b)/g, `$1${THIN}`);
}

/** `a`, `a and b`, `a, b and c`. */
export function listOf(names: string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** `one trial`, `2 trials`. */
export function numberOf(value: number, thing: string): string {
  return value === 1 ? `one ${thing}` : `${count(value)} ${thing}s`;
}

// Translates names in an earlier version's data to today's names.

import type { Raw } from "./raw.ts";

/* old words */
const NAMES = new Map([
  ["cells", "cases"], ["cell", "case"], ["lateness_ns_p99", "schedule_lag_ns_p99"], ["fired", "sent"],
]);
/* end of old words */

/** Returns the data with today's names. If a name of today exists too, its value stays. */
export function renamed(raw: unknown): unknown {
  if (Array.isArray(raw)) return raw.some((one) => typeof one === "object") ? raw.map(renamed) : raw;
  if (typeof raw !== "object" || raw === null) return raw;
  const named: Raw = {};
  for (const [name, value] of Object.entries(raw)) {
    const today = NAMES.get(name) ?? name;
    if (today === name || !(today in raw)) named[today] = renamed(value);
  }
  return named;
}

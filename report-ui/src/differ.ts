// What runtimes have in common and what not: one table, a row a setting. Pure but for its types.

import type { RuntimeEvidence } from "./data.ts";

export interface Fact {
  topic: string;
  name: string;
  /** One a runtime; `null`: it has none. */
  values: (string | null)[];
  /** Whether the value is not what most have; never where nothing is known. */
  isOdd: boolean[];
  differs: boolean;
}

/** Every version, setting and observed value of all runtimes. */
export function facts(runtimes: RuntimeEvidence[]): Fact[] {
  return [
    ...rows("runtime", runtimes.map((one) => (one.mode ? { mode: one.mode } : null))),
    ...rows("version", runtimes.map((one) => one.versions)),
    ...rows("setting", runtimes.map((one) => one.settings)),
    ...rows("PHP", runtimes.map(observed)),
    ...rows("extension", runtimes.map(extensions)),
    ...rows("php.ini", runtimes.map((one) => one.observed?.ini ?? null)),
  ];
}

function observed({ observed }: RuntimeEvidence): Record<string, string> | null {
  if (!observed) return null;
  const yes = (is: boolean) => (is ? "yes" : "no");
  return {
    version: observed.php_version,
    SAPI: observed.sapi,
    "thread-safe": yes(observed.thread_safe),
    OPcache: yes(observed.opcache),
    JIT: yes(observed.jit),
    workers: observed.workers > 0 ? String(observed.workers) : "not seen",
  };
}

function extensions({ observed }: RuntimeEvidence): Record<string, string> | null {
  return observed && Object.fromEntries(observed.extensions.map((name) => [name, "yes"]));
}

/** The union of keys, sorted. `null` for a runtime of which nothing is known. */
function rows(topic: string, all: (Record<string, string> | null)[]): Fact[] {
  const maps = all.map((one) => (one ? new Map(Object.entries(one)) : null));
  const names = new Set(maps.flatMap((map) => (map ? [...map.keys()] : [])));
  return [...names].sort().map((name) => {
    const values = maps.map((map) => map?.get(name) ?? null);
    // One of which nothing is known does not differ; it has no value here all the same.
    const known = values.filter((_, place) => maps[place]);
    const most = usual(known);
    const isOdd = values.map((value, place) => !!maps[place] && value !== most);
    return { topic, name, values, isOdd, differs: isOdd.includes(true) };
  });
}

/** What most have; of several, the first. */
export function usual(values: (string | null)[]): string | null {
  const counts = new Map<string | null, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  let best: string | null = null;
  let most = 0;
  for (const [value, count] of counts) {
    if (count > most) [best, most] = [value, count];
  }
  return best;
}

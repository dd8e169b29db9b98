// Compares runtimes or runs: one table with a row for each setting shows what they have in common
// and what differs. This module uses nothing from the page but types.

import type { Run } from "./data.generated.ts";
import type { RuntimeEvidence } from "./data.ts";

export interface Fact {
  topic: string;
  name: string;
  /** One value for each column; `null`: the column has none. */
  values: (string | null)[];
  /** Whether the value differs from the most frequent one; false if the column is unknown. */
  isOdd: boolean[];
  differs: boolean;
}

/** Returns every version, setting and observed value of all runtimes. A runtime is compared with
 * those for which `kinOf` returns the same name. */
export function facts(
  runtimes: RuntimeEvidence[], kinOf: (one: RuntimeEvidence) => string = () => "",
): Fact[] {
  const kin = runtimes.map(kinOf);
  return [
    ...rows("runtime", runtimes.map((one) => (one.mode ? { mode: one.mode } : null)), kin),
    ...rows("version", runtimes.map((one) => one.versions), kin),
    ...rows("setting", runtimes.map((one) => one.settings), kin),
    ...rows("PHP", runtimes.map(observed), kin),
    ...rows("extension", runtimes.map(extensions), kin),
    ...rows("php.ini", runtimes.map((one) => one.observed?.ini ?? null), kin),
  ];
}

/** The machine of each run, in the order of the run's own list. */
export function machineFacts(runs: Run[]): Fact[] {
  const order = [...new Set(runs.flatMap((run) => run.machine.map(([label]) => label)))];
  const all = runs.map((run) => (run.machine.length > 0 ? Object.fromEntries(run.machine) : null));
  const found = rows("machine", all, runs.map(() => ""));
  return found.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

/** How each run was made: version, rounds, seed and flags. */
export function runFacts(runs: Run[]): Fact[] {
  const own = runs.map((run) => ({
    stampede: run.stampede, rounds: String(run.rounds), seed: String(run.seed),
    flags: run.flags.join(" "),
  }));
  return rows("run", own, runs.map(() => ""));
}

/** The lines of a plan, and whether any other plan lacks them. */
export function planLines(own: string, others: string[]): { text: string; isOdd: boolean }[] {
  const sets = others.map((plan) => new Set(plan.split("\n").map((line) => line.trim())));
  return own.split("\n").map((text) => ({
    text, isOdd: text.trim() !== "" && sets.some((lines) => !lines.has(text.trim())),
  }));
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

/** Rows for the union of all keys, sorted. A column is `null` if nothing is known of it. */
function rows(topic: string, all: (Record<string, string> | null)[], kin: string[]): Fact[] {
  const maps = all.map((one) => (one ? new Map(Object.entries(one)) : null));
  const names = new Set(maps.flatMap((map) => (map ? [...map.keys()] : [])));
  return [...names].sort().map((name) => {
    const values = maps.map((map) => map?.get(name) ?? null);
    // A column of which nothing is known has no value here, but does not count as different.
    const known = (of: string) => values.filter((_, place) => maps[place] && kin[place] === of);
    const most = new Map([...new Set(kin)].map((of) => [of, usual(known(of))]));
    const isOdd = values.map((value, place) => !!maps[place] && value !== most.get(kin[place] ?? ""));
    return { topic, name, values, isOdd, differs: isOdd.includes(true) };
  });
}

/** The most frequent value; of several, the first. */
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

// Sample pages: runs that never were, from a seed, in the shape that stampede writes. Each is
// written as JSON and, where the page is built, as a page.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { STATS, TIMES } from "../src/data.ts";
import { runSamples } from "./samples_runs.ts";

/** A reason as results of format 2 have it; the notices are bare, as of format 1. */
const late = {
  code: "generator_late", p99_lag_ns: 1_260_000, limit_ns: 1_000_000,
  text: "the generator was late: p99 schedule lag 1.26 ms, allowed 1.00 ms",
};

/** What was found of an expected figure, likewise. */
const found = { code: "value", value: 0.899, unit: "share", text: "89.9 %" };

/** A small generator of random numbers (mulberry32): the same sample for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export interface Options {
  seed: number;
  runtimes: string[];
  app: string;
  loads: { name: string; text: string; rate: (second: number) => number; seconds: number }[];
  model: "open" | "closed";
  rounds: number;
  /** Past this rate a runtime fails. */
  limit?: (place: number) => number;
  planted?: string;
  /** p95 in ns of each runtime, where it is not the usual sample's. */
  p95?: number[];
}

const exact = (value: number, spread: number, trials: number) => ({
  state: "exact", value, trials,
  interval: trials < 3 ? null : [value / (1 + spread), value * (1 + spread)],
});
export const none = { state: "none" };

const FACTOR: Record<string, number> = {
  mean: 0.75, p50: 0.68, p75: 0.78, p80: 0.81, p85: 0.86, p90: 0.91, p95: 1, p98: 1.2, p99: 1.6, "p99.9": 4, max: 9,
};

function times(p95: number, spread: number, trials: number) {
  return Object.fromEntries(STATS.map((stat) => [stat,
    stat === "p99.9" ? { state: "too_few" } : exact(p95 * (FACTOR[stat] ?? 1), spread, trials)]));
}

function figures(options: Options, p95: number, rate: number, place: number, trials: number, ok = 1) {
  const spread = 0.04 + place * 0.05;
  const isOpen = options.model === "open";
  const role = (share: number) => ({
    cpu_percent_median: exact(8 * share * (1 + place / 6), spread, trials),
    cpu_percent_max: exact(10 * share * (1 + place / 6), spread, trials),
    cpu_cost_us: exact(290 * share * (1 + place / 6), spread, trials),
    memory_bytes_median: exact(11.2e6 * share * (1 + place / 8), 0.01, trials),
    memory_bytes_max: exact(11.9e6 * share * (1 + place / 8), 0.01, trials),
  });
  const sets = TIMES.map((name) => [name, !isOpen && name.startsWith("response") ? Object.fromEntries(STATS.map((stat) => [stat, none])) : times(p95 * (name.startsWith("service") ? 0.9 : 1), spread, trials)]);
  return {
    ...Object.fromEntries(sets),
    connection_wait_ns_p99: exact(1023, 0, trials),
    schedule_lag_ns_p99: exact(117e3, 0.4, trials),
    first_answer_ns: exact(34e6 + place * 3e6, 0.4, trials),
    ok_share: exact(ok, 0, trials),
    offered_per_second: isOpen ? exact(rate, 0, trials) : none,
    throughput_per_second: exact(rate * ok, 0.01, trials),
    received_bytes_per_second: exact(rate * 666, 0.01, trials),
    sent_bytes_per_second: exact(rate * 95, 0.01, trials),
    ...role(1),
    roles: place % 3 === 0 ? { php: role(1) } : { php: role(0.6), web: role(0.4) },
  };
}

function series(options: Options, entry: number, trial: number, round: number, load: Options["loads"][number], place: number, base: number, next: () => number) {
  const limit = options.limit?.(place) ?? Infinity;
  const column = (of: (second: number) => number | null) => Array.from({ length: load.seconds }, (_, second) => of(second));
  const over = (second: number) => Math.max(0, load.rate(second) / limit - 1);
  const noise = () => 0.85 + next() * 0.3 + (next() > 0.985 ? next() * 4 : 0);
  const p95 = column((second) => base / 1e3 * noise() * (1 + over(second) * 60 + Math.max(0, load.rate(second) / limit - 0.7)));
  const scaled = (factor: number) => p95.map((us) => (us === null ? null : Math.round(us * factor * 10) / 10));
  const offered = column((second) => Math.round(load.rate(second)));
  const bad = (second: number) => Math.round(load.rate(second) * Math.min(0.8, over(second)));
  const failed = limit === Infinity ? {} : {
    "net: timeout": column((second) => Math.round(bad(second) * 0.7)),
    "http: 503": column((second) => Math.round(bad(second) * 0.2)),
  };
  const at = Array.from({ length: load.seconds }, (_, second) => Math.round((second + 0.31 + next() * 0.05) * 1000) / 1000);
  const reading = (value: number) => at.map(() => (next() > 0.98 ? null : Math.round(value * (0.9 + next() * 0.2) * 100) / 100));
  const roles: [string, number][] = place % 3 === 0 ? [["php", 1]] : [["php", 0.6], ["web", 0.4]];
  return {
    case: entry, trial, round, unfinished: false, step: 1,
    mean: scaled(0.75), p50: scaled(0.68), p95: scaled(1), p99: scaled(1.6), max: scaled(5),
    offered,
    ok: column((second) => Math.max(0, Math.round(load.rate(second)) - bad(second))),
    dropped: column((second) => Math.round(bad(second) * 0.1)),
    failed,
    in_flight: column((second) => Math.max(1, Math.round(1 + next() * 3 + over(second) * 300))),
    resources: {
      at,
      cpu_percent: Object.fromEntries(roles.map(([role, share]) => [role, reading(9 * share * (1 + place / 6) * (load.rate(0) / 300 + 0.2))])),
      memory_mib: Object.fromEntries(roles.map(([role, share]) => [role, reading(11 * share * (1 + place / 8))])),
    },
  };
}

function curve(entry: number, p95: number, planned: number, failedFrom: number | null) {
  const points: [number, number][] = [];
  for (let x = 1; x < planned; x *= 1.18) {
    const percentile = 100 - 100 / x;
    if (failedFrom !== null && percentile > failedFrom) break;
    points.push([Number(percentile.toFixed(5)), Math.round(p95 / 1e3 * (0.5 + 0.33 * Math.log10(1 + x * 1.2) + 0.02 * Math.log10(x) ** 3))]);
  }
  if (failedFrom === null) points.push([100, Math.round((points.at(-1)?.[1] ?? 1) * 1.3)]);
  return { case: entry, points, failed_from: failedFrom };
}

export type Raw = Record<string, any>;

/** A whole run. */
export function sample(options: Options): Raw {
  const next = random(options.seed);
  const page: Raw = {
    format: 2, stampede: "0.1.0",
    runs: [run(options)], names: {},
    summary: {
      format: 2, run: "20261121-110307-d6f4", stampede: "0.1.0", started_at: "2026-11-21T11:03:07+00:00",
      seed: 1056756720, rounds: options.rounds,
      notices: [`load \`${options.loads[0]?.name}\`: keep-alive is off for all runtimes, because \`${options.runtimes[4] ?? options.runtimes[0]}\` holds a worker per connection and has 4 workers for up to 1000 connections. With \`keep_alive: true\` it stays on, and \`${options.runtimes[4] ?? options.runtimes[0]}\` is skipped`],
      groups: [], cases: [],
    },
    series: [], curves: [],
    evidence: evidence(options),
    downloads: [
      { name: "summary.csv", type: "text/csv", text: "runtime,p95\nnginx-fpm,1\n" },
      { name: "summary.json", type: "application/json", text: "{}\n" },
    ],
  };
  for (const load of options.loads) {
    addGroup(page, options, load);
    options.runtimes.forEach((runtime, place) => {
      const base = options.p95?.[place] ?? (520e3 + place * 90e3) * (1 + load.rate(0) / 4000) * (place === 5 ? 1.6 : 1);
      addCase(page, options, load, runtime, place, base, next);
    });
  }
  return page;
}

function addGroup(page: Raw, options: Options, load: Options["loads"][number]): void {
  const [best, ...others] = options.runtimes;
  const isOpen = options.model === "open";
  const enough = options.rounds >= 3;
  const group = {
    app: options.app, load: load.name, load_text: load.text, model: options.model,
    primary: isOpen ? "response_time_p95" : "throughput",
    sentence: isOpen
      ? `No runtime is clearly ahead of ${best}. ${others[2] ?? "none"} is slower than ${best}: its p95 is 1.36 × as long (1.31 – 1.43). ${others[0]}: too close to call against ${best}.`
      : `No runtime is clearly ahead of ${best}. ${others[0]} serves 16 % fewer requests than ${best}: 0.84 × (0.82 – 0.86).`,
    baseline: best,
    comparisons: others.map((runtime, place) => ({
      runtime,
      ratio: { value: isOpen ? 1.04 + place * 0.16 : 0.84 - place * 0.05, interval: enough ? (isOpen ? [0.97 + place * 0.13, 1.1 + place * 0.2] : [0.8 - place * 0.05, 0.88 - place * 0.05]) : null, trials: options.rounds },
      relation: !enough ? "too_few_rounds" : place === 0 && isOpen ? "inconclusive" : place === 1 && isOpen ? "equivalent" : isOpen ? "higher" : "lower",
      why_not: null,
    })),
  };
  page.summary.groups.push(group);
}

function addCase(
  page: Raw, options: Options, load: Options["loads"][number], runtime: string, place: number, base: number, next: () => number,
): void {
  const index = page.summary.cases.length;
  // A round is every case once.
  const numberIn = (round: number) => round * options.runtimes.length * options.loads.length + index + 1;
  const rates = Array.from({ length: load.seconds }, (_, second) => load.rate(second));
  const rate = rates.reduce((sum, one) => sum + one, 0) / load.seconds;
  const limit = options.limit?.(place);
  const planned = Math.round(rate * load.seconds);
  const lost = limit ? Math.round(planned * 0.1) : 0;
  const own = options.model === "closed" ? rate * (1 - place * 0.1) : rate;
  const counts = (times: number) => ({
    planned: planned * times, ok: (planned - lost) * times,
    failed: lost ? { "net: timeout": Math.round(lost * 0.7) * times, "http: 503": Math.round(lost * 0.2) * times } : {},
    dropped: Math.round(lost * 0.1) * times, restarts: place === 3 ? 1 : 0, context_switches: 14434 * times, in_flight_max: 3,
  });
  const trials = Array.from({ length: options.rounds }, (_, round) => {
    const number = numberIn(round);
    const isInvalid = place === 1 && round === 1;
    const p95 = base * (0.9 + next() * 0.2);
    page.series.push(series(options, index, number, round + 1, load, place, p95, next));
    page.evidence.trials.push(trialEvidence(options, index, number, round + 1, isInvalid));
    return {
      number, round: round + 1, verdict: isInvalid ? "invalid" : place === 2 && round === 0 ? "suspect" : "valid",
      reasons: isInvalid ? [late] : [],
      counts: counts(1), ...figures(options, p95, own, place, 1, 1 - lost / planned),
    };
  });
  const invalid = trials.filter((trial) => trial.verdict === "invalid");
  page.summary.cases.push({
    runtime, app: options.app, load: load.name, model: options.model,
    verdict: place === 2 ? "suspect" : "valid",
    reasons: [
      ...invalid.map((trial) => ({ judged: "invalid", trials: [trial.number], text: trial.reasons[0].text })),
      ...(place === 2 ? [{ judged: "suspect", trials: [numberIn(0)], text: "the host took 1.1 % of the CPU time away (steal)" }] : []),
    ],
    not_comparable: place === 3 ? [
      "memory_limit is 256M, not 128M",
      "`/` gives another answer than on the other runtimes: 200, 18.9 KiB, `Shop` in both\n- <p>Users online: 3</p>\n+ <p>Users online: 4</p>",
    ] : [],
    asked: [], forced: place === 0 ? ["without cgi.*", "with extension cli_server"] : [],
    kept: place === 1 ? ["class"] : [],
    differs: place === 1 ? ["it serves no files, so the app gets their paths, too", "it has no REMOTE_PORT"] : [],
    provider: "native", title: options.planted ?? `${runtime}, packaged by Debian`, mode: "per-request", versions: { php: "PHP 8.2.35 (cli)" },
    budget_cpus: 1, budget_memory_bytes: 0, budget_unequal: false, timeout_ns: 11e9, stretched_max: 1,
    trials_counted: options.rounds - invalid.length, trials_invalid: invalid.length, trials_missing: 0,
    counts: counts(options.rounds - invalid.length),
    ...figures(options, base, own, place, options.rounds - invalid.length, 1 - lost / planned),
    trials, expectations: lost ? [{ text: "ok >= 99%", outcome: "not_met", figure: found }] : [],
    ...(limit ? { breaking: breaking(limit, place) } : {}),
  });
  page.curves.push(curve(index, base, planned, lost ? 90 + place : null));
}

function breaking(limit: number, place: number) {
  return {
    judged: ["ok >= 99%"], trials: 3, trials_broken: place === 0 ? 0 : 3, seconds: [60, 61, 62],
    offered_per_second: place === 0 ? none : exact(limit * 1.02, 0.02, 3), lost: ["ok >= 99%"], failed: {},
    in_flight_max_before: 12, in_flight_max_after: 400,
    response_time_ns: times(600e3, 0.1, 3), response_time_ns_ok: times(600e3, 0.1, 3),
  };
}

function trialEvidence(options: Options, entry: number, number: number, round: number, isInvalid: boolean): Raw {
  const planted = options.planted;
  return {
    run: 0, number, round, case: entry, verdict: isInvalid ? "invalid" : "valid",
    reasons: isInvalid ? [late] : [],
    phases: [["start", 0, 76.7], ["verify", 76.7, 292.8], ["warm-up", 292.8, 1291.4], ["measure", 1291.4, 5290.6], ["drain", 5290.6, 5290.7], ["stop", 5290.7, 5410.2]],
    figures: [["schedule lag p99", isInvalid ? "1.26 ms" : "117 µs"], ["busy share", "3.2 %"], ["steal", "0.1 %"], ["Little's law", "within 1.1 %"]],
    errors: planted ? [["http: 500", planted], [planted, "HTTP/1.1 500\r\nX-Evil: " + planted]] : [],
    log_lines: planted ? [["error.log", planted], ["php.log", "PHP Warning: " + planted]] : number === 2 ? [["error.log", "[warn] child 4711 said something about php.ini"]] : [],
  };
}

function run(options: Options): Raw {
  const planted = options.planted ?? "";
  return {
    label: "", run: "20261121-110307-d6f4", started_at: "2026-11-21T11:03:07+00:00", stampede: "0.1.0",
    seed: 1056756720, rounds: options.rounds, state: "ended",
    plan_text: `app: ${options.app}\nworkers: 4\nruntimes:\n${options.runtimes.map((name) => `  - ${name}`).join("\n")}\n# ${planted}\n`,
    flags: planted ? ["--app", planted] : [],
    command: "stampede compare plans/demo.yaml --seed 1056756720",
    machine: [["CPU", "Intel(R) Xeon(R) Processor @ 2.80GHz"], ["CPUs", "2, 2 of them allowed"], ["memory", "23.5 GiB"], ["kernel", "6.18.44"], ["system", "Debian GNU/Linux 12 (bookworm)"], ["spectre_v2", "Mitigation: Retpolines; STIBP: disabled; RSB filling; PBRSB-eIBRS: Not affected; BHI: Retpoline"]],
  };
}

function evidence(options: Options): Raw {
  const planted = options.planted ?? "";
  return {
    runtimes: options.runtimes.map((name, place) => runtimeEvidence(name, place, planted)),
    cases: options.runtimes.map((_, entry) => ({ case: entry, figures: [
      ["kept up", entry === 5 ? "no: it answered 248.2 of 300.0 requests/s" : "yes"],
      ["in flight", "1.02 on average, 1.02 by Little's law"],
      ["1 million requests", `${12 + entry} CPU-minutes`],
      ["pages", `/ "${planted || "hello"}" 1.2 KB`],
    ] })),
    trials: [],
  };
}

function runtimeEvidence(name: string, place: number, planted: string): Raw {
  const ini = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`setting.number_${n}`, n === 7 ? String(place % 2) : `value ${n}`]));
  return {
    run: 0, name, title: planted || `${name}, packaged by Debian`, mode: "per-request",
    versions: { php: "PHP 8.2.35 (cli) (built: Oct 21 2026 06:29:51) (NTS)", ...(place % 3 ? { nginx: "1.22.1" } : {}) },
    settings: { workers: 4, keep_alive: false, ...(place === 3 ? { memory_limit: "256M" } : {}) },
    commands: [`/usr/sbin/php-fpm8.2 --nodaemonize --fpm-config ${name}.conf ${planted}`],
    files: [[`${name}.conf`, `[global]\nerror_log = error.log\n; ${planted}\n[www]\npm = static\npm.max_children = 4\n`]],
    observed: place === 5 && !planted ? null : {
      php_version: "8.2.35", sapi: place % 2 ? "fpm-fcgi" : "cli-server", thread_safe: false, opcache: true, jit: false, workers: 4,
      extensions: ["Core", "date", "json", ...(place % 2 ? ["cgi-fcgi"] : ["cli_server"])],
      ini: { memory_limit: place === 3 ? "256M" : "128M", ...ini, ...(planted ? { [planted]: planted } : {}) }, notices: planted ? [planted] : [],
    },
    isolation: [["cgroup", "cpu, memory"], ["CPUs", "1"], ["network", "loopback only"], ["user", place % 2 ? "www-data" : "nobody"]],
  };
}

export const SIX = ["php-builtin", "lighttpd-fcgi", "apache-modphp", "nginx-fcgi", "apache-fpm", "nginx-fpm"];
const TEN = [...SIX, "swoole", "road-runner", "road-runner-reboot", "frankenphp-worker"];

export const steady = (name: string, rate: number, seconds: number) => ({
  name, text: `const(${rate},${seconds}s)`, rate: () => rate, seconds,
});

export const PLANTED = `</script><script>window.planted=1</script><img src=x onerror="window.planted=2">`;

export function samples(): Record<string, unknown> {
  const demo = { seed: 1, runtimes: SIX, app: "hello", loads: [steady("steady", 300, 40)], model: "open" as const, rounds: 3 };
  const cut = sample({ ...demo, seed: 7 });
  damage(cut);
  return {
    demo: sample(demo),
    large: sample({ ...demo, seed: 2, runtimes: TEN, loads: [100, 500, 1000, 2000].map((rate) => steady(`at-${rate}`, rate, 600)), rounds: 1 }),
    planted: sample({ ...demo, seed: 3, runtimes: [`a${PLANTED}`, `b" onclick="window.planted=3`, "__proto__", ...SIX.slice(3)], app: `app ${PLANTED}`, planted: PLANTED }),
    empty: { format: 2, stampede: "0.1.0", summary: { format: 2, run: "20261121-110307-0000", started_at: "2026-11-21T11:03:07Z", rounds: 3, groups: [], cases: [] } },
    rising: sample({ ...demo, seed: 4, app: "symfony", loads: [{ name: "rise", text: "line(10,1000,120s)", rate: (second) => 10 + (990 * second) / 120, seconds: 120 }], limit: (place) => 1020 - place * 110 }),
    closed: sample({ ...demo, seed: 5, model: "closed", loads: [{ ...steady("users", 5200, 30), text: "16 users, 30s" }] }),
    cut,
    nothing: {},
    ...runSamples(demo),
  };
}

/** A run cut off in the middle, with cases of all other verdicts and some fields gone. */
function damage(page: Raw): void {
  const [first, second, third, fourth] = page.summary.cases;
  first.trials_missing = 2;
  for (const [entry, verdict] of [[second, "refused"], [third, "missing"], [fourth, "invalid"]]) {
    entry.verdict = verdict;
    entry.trials_counted = 0;
    entry.reasons = [{ judged: null, trials: [], text: `it was ${verdict}: the port 8081 was taken by another program` }];
  }
  second.trials = [];
  third.trials = [];
  page.series = page.series.filter((one: Raw) => ![1, 2].includes(one.case)).slice(0, 5);
  delete page.series[0].p95;
  page.series[1].ok = null;
  page.curves = page.curves.slice(0, 1);
  page.runs[0].state = "cut_off";
  delete page.runs[0].machine;
  delete page.evidence.runtimes[0].observed;
  delete page.downloads;
}

/** As stampede writes data into a page. */
export function embedded(data: unknown): string {
  const codes: Record<string, string> = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029" };
  return JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (char) => codes[char] ?? char);
}

/** The built page with data in it. */
export function filled(form: string, data: unknown): string {
  return form.replace("__STAMPEDE_DATA__", () => embedded(data));
}

/** Writes all samples into a directory. */
export function writeSamples(page: string, directory: string): string[] {
  mkdirSync(directory, { recursive: true });
  const form = readFileSync(page, "utf8");
  return Object.entries(samples()).map(([name, data]) => {
    writeFileSync(join(directory, `${name}.json`), embedded(data));
    writeFileSync(join(directory, `${name}.html`), filled(form, data));
    return name;
  });
}

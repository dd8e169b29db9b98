// Sample data of more than one run, of runs that have not ended, and of the list of runs.

import { rows, versions } from "./samples_versions.ts";
import { PLANTED, SIX, none, sample, type Options, type Raw } from "./samples.ts";

export function runSamples(demo: Options): Record<string, Raw> {
  return {
    overlay: overlay(demo),
    overlay_loads: overlayOfLoads(demo),
    unfinished: begun(sample({ ...demo, seed: 11 }), 8, 17, "cut_off"),
    under_way: begun(sample({ ...demo, seed: 12 }), 3, 9, "under_way"),
    versions: versions(demo),
    rows: rows(),
    rows_empty: { ...rows(), rows: [] },
    list: list(),
    list_empty: { format: 1, stampede: "0.1.0", history: [], results: "/srv/results", served: { home: "/", events: null, over: "/over?" } },
  };
}

/** A run of which so many trials have ended, and so many seconds of the next. */
export function begun(page: Raw, ended: number, seconds: number, state: "cut_off" | "under_way"): Raw {
  const planned = page.summary.cases.length * page.summary.rounds;
  page.runs[0].state = state;
  for (const entry of page.summary.cases) shorten(entry, ended, page.summary.rounds, state);
  page.series = page.series.filter((one: Raw) => one.trial <= ended + 1 && (one.trial <= ended || seconds > 0));
  const next = page.series.find((one: Raw) => one.trial === ended + 1);
  if (next) cutAt(next, seconds);
  const counted = new Set(page.summary.cases.flatMap((entry: Raw, index: number) => entry.trials_counted > 0 ? [index] : []));
  page.curves = page.curves.filter((curve: Raw) => counted.has(curve.case));
  page.evidence.trials = page.evidence.trials.filter((one: Raw) => one.number <= ended);
  for (const group of page.summary.groups) {
    group.comparisons = group.comparisons.filter((one: Raw) => page.summary.cases.some((entry: Raw) => entry.runtime === one.runtime && entry.trials_counted > 0));
    for (const one of group.comparisons) {
      one.relation = "too_few_rounds";
      one.ratio.interval = null;
    }
    const [first] = group.comparisons;
    group.sentence = first ? `One round: a first impression. p95 compared with ${group.baseline} (less is better): ${first.runtime} 1.20 ×. Run again with \`--rounds 3\`.` : "";
  }
  if (state === "under_way") {
    page.progress = { ended, planned, under_way: ended < planned ? { trial: ended + 1, case: ended % page.summary.cases.length, seconds } : null };
  }
  return page;
}

function shorten(entry: Raw, ended: number, rounds: number, state: string): void {
  entry.trials = entry.trials.filter((trial: Raw) => trial.number <= ended);
  const invalid = entry.trials.filter((trial: Raw) => trial.verdict === "invalid").length;
  entry.trials_counted = entry.trials.length - invalid;
  entry.trials_invalid = invalid;
  entry.trials_missing = rounds - entry.trials.length;
  entry.reasons = entry.reasons.filter((reason: Raw) => reason.trials.every((number: number) => number <= ended));
  for (const figures of [entry, ...Object.values(entry.response_time_ns), ...Object.values(entry.service_time_ns)] as Raw[]) {
    for (const [name, figure] of Object.entries(figures)) {
      if ((figure as Raw)?.state === "exact") figures[name] = entry.trials_counted > 0 ? { ...(figure as Raw), interval: null, trials: entry.trials_counted } : none;
    }
  }
  for (const set of [entry.response_time_ns, entry.service_time_ns, entry.response_time_ns_ok, entry.service_time_ns_ok]) {
    for (const [name, figure] of Object.entries(set)) {
      if ((figure as Raw).state === "exact") set[name] = entry.trials_counted > 0 ? { ...(figure as Raw), interval: null } : none;
    }
  }
  if (entry.trials.length > 0) return;
  entry.verdict = "missing";
  entry.counts = { planned: 0, ok: 0, failed: {}, dropped: 0, restarts: 0, context_switches: 0, in_flight_max: 0 };
  entry.reasons = state === "cut_off" ? [{ judged: null, trials: [], text: "the run ended before its first trial" }] : [];
}

/** What is there of a trial after so many seconds. */
export function cutAt(series: Raw, seconds: number): Raw {
  const cut = (of: Raw): void => {
    for (const [name, value] of Object.entries(of)) {
      if (Array.isArray(value)) of[name] = value.slice(0, seconds);
      else if (typeof value === "object" && value !== null) cut(value);
    }
  };
  cut(series);
  series.unfinished = true;
  return series;
}

/** Two runs of the same plan, but for one load more and another machine. */
function overlay(demo: Options): Raw {
  const a = sample({ ...demo, seed: 21 });
  const b = begun(sample({ ...demo, seed: 22, runtimes: [...SIX.slice(0, 5), "frankenphp-worker"] }), 16, 12, "cut_off");
  Object.assign(b.runs[0], { run: "20261123-081500-77aa", started_at: "2026-11-23T08:15:00+00:00", seed: 7, plan_text: b.runs[0].plan_text.replace("workers: 4", "workers: 8") });
  for (const one of b.evidence.runtimes) one.settings.workers = 8;
  b.runs[0].machine[1] = ["CPUs", "8, 8 of them allowed"];
  b.runs[0].machine.push(["virtual machine", "kvm"]);
  return merged([a, b]);
}

/** Two runs of which the second lacks a load. */
function overlayOfLoads(demo: Options): Raw {
  const [load] = demo.loads;
  if (!load) return {};
  const loads = ["calm", "busy", "burst"].map((name, place) => ({ ...load, name, rate: () => 200 * (place + 1) }));
  const runtimes = SIX.slice(0, 2);
  const a = sample({ ...demo, seed: 31, runtimes, loads });
  const b = without("busy", sample({ ...demo, seed: 32, runtimes, loads }));
  return merged([a, b]);
}

/** A run without one of its loads. */
function without(load: string, page: Raw): Raw {
  const { cases, groups } = page.summary;
  const left: number[] = cases.flatMap((entry: Raw, index: number) => (entry.load === load ? [] : [index]));
  const moved = (all: Raw[]) => all.filter((one) => left.includes(one.case)).map((one) => ({ ...one, case: left.indexOf(one.case) }));
  page.summary.cases = left.map((index) => cases[index]);
  page.summary.groups = groups.filter((group: Raw) => group.load !== load);
  page.series = moved(page.series);
  page.curves = moved(page.curves);
  page.evidence.cases = moved(page.evidence.cases);
  page.evidence.trials = moved(page.evidence.trials);
  return page;
}

/** As stampede lays runs over each other. */
function merged(pages: Raw[]): Raw {
  const [first] = pages;
  const whole: Raw = { ...first, runs: [], names: {}, series: [], curves: [], downloads: [], evidence: { runtimes: [], cases: [], trials: [] } };
  whole.summary = { ...first?.summary, run: "A + B", started_at: "", seed: 0, rounds: 0, cases: [], groups: [] };
  pages.forEach((page, place) => {
    const label = "ABCDEFGH"[place] ?? "";
    const offset = whole.summary.cases.length;
    const name = (own: string) => `${own} (${label})`;
    whole.runs.push({ ...page.runs[0], label });
    for (const entry of page.summary.cases) {
      whole.names[name(entry.runtime)] = { runtime: entry.runtime, run: place };
      whole.summary.cases.push({ ...entry, runtime: name(entry.runtime) });
    }
    const moved = (one: Raw) => ({ ...one, case: one.case + offset });
    whole.series.push(...page.series.map(moved));
    whole.curves.push(...page.curves.map(moved));
    whole.evidence.runtimes.push(...page.evidence.runtimes.map((one: Raw) => ({ ...one, run: place, name: name(one.name) })));
    whole.evidence.cases.push(...page.evidence.cases.map(moved));
    whole.evidence.trials.push(...page.evidence.trials.map((one: Raw) => ({ ...moved(one), run: place })));
  });
  whole.summary.groups = first?.summary.groups.map((group: Raw) => ({
    ...group, baseline: null, comparisons: [],
    sentence: "Runs are laid over each other, not compared.\n" + pages.map((page, place) => `${"AB"[place]}: ${page.summary.groups[0].sentence}`).join("\n"),
  }));
  return whole;
}

const entry = (more: Raw): Raw => ({
  name: "20261121-110307-d6f4", started_at: "2026-11-21T11:03:07+00:00", state: "ended", why: "",
  apps: ["hello"], loads: ["steady"], runtimes: SIX, rounds: 3,
  trials_ended: 18, trials_planned: 18, trials_invalid: 0,
  answers: [{ app: "hello", load: "steady", sentence: "nginx-fpm is ahead: p95 of response time 562 µs; apache-modphp takes 1.26 × as long (1.24 to 1.28); 95 % intervals over 3 rounds." }],
  page: "/run?run=20261121-110307-d6f4",
  ...more,
});

export function list(): Raw {
  const sentence = (who: string) => `${who} is ahead: p95 of response time 11.9 ms; php-builtin takes 1.84 × as long (1.71 to 1.98); 95 % intervals over 5 rounds.`;
  const loads = ["calm", "busy", "rise", "burst"];
  const history = [
    entry({ name: "20261123-091500-0c1e", started_at: "2026-11-23T09:15:00+00:00", state: "under_way", trials_ended: 7, answers: [{ app: "hello", load: "steady", sentence: "" }] }),
    entry({ name: "20261123-081500-77aa", started_at: "2026-11-23T08:15:00+00:00", apps: ["symfony", "laravel"], loads, runtimes: ["nginx-fpm", "frankenphp-worker", "php-builtin"], rounds: 5, trials_ended: 120, trials_planned: 120, trials_invalid: 2, answers: loads.map((load, place) => ({ app: place % 2 ? "laravel" : "symfony", load, sentence: sentence(place % 2 ? "frankenphp-worker" : "nginx-fpm") })) }),
    entry({ name: "20261122-230104-51b2", started_at: "2026-11-22T23:01:04+00:00", state: "cut_off", trials_ended: 8 }),
    entry({}),
    entry({ name: "20261120-100000-aaaa", started_at: "", state: "unreadable", why: "run.json: expected value at line 1 column 1", apps: [], loads: [], runtimes: [], answers: [], trials_ended: 0, trials_planned: 0, page: "" }),
    entry({ name: `evil ${PLANTED}`, why: PLANTED, apps: [PLANTED], loads: [PLANTED], runtimes: [PLANTED], answers: [{ app: PLANTED, load: PLANTED, sentence: `${PLANTED} window.planted=1` }], page: "javascript:window.planted=3" }),
  ];
  for (const one of history) if (one.page.startsWith("/")) one.page = `/run?run=${one.name}`;
  return { format: 1, stampede: "0.1.0", history, results: "/srv/stampede-results", served: { home: "/", events: null, over: "/over?" } };
}

// The sample that the pictures of the docs show: figures like those of a real run, and a sentence
// that fits them.

import { random, sample, type Raw } from "./samples.ts";

interface Own {
  name: string;
  title: string;
  /** p95 in ns. */
  p95: number;
  sapi: string;
  server: [string, string] | null;
}

const ALL: Own[] = [
  { name: "nginx-fpm", title: "nginx and PHP-FPM", p95: 10.2e6, sapi: "fpm-fcgi", server: ["nginx", "1.22.1"] },
  { name: "apache-fpm", title: "Apache and PHP-FPM", p95: 10.4e6, sapi: "fpm-fcgi", server: ["apache", "2.4.62"] },
  { name: "lighttpd-fcgi", title: "lighttpd and FastCGI", p95: 11.9e6, sapi: "cgi-fcgi", server: ["lighttpd", "1.4.69"] },
  { name: "nginx-fcgi", title: "nginx and FastCGI", p95: 13.3e6, sapi: "cgi-fcgi", server: ["nginx", "1.22.1"] },
  { name: "apache-modphp", title: "Apache and mod_php", p95: 15.8e6, sapi: "apache2handler", server: ["apache", "2.4.62"] },
  { name: "php-builtin", title: "PHP's built-in server", p95: 22.6e6, sapi: "cli-server", server: null },
];
const ROUNDS = 5;
const RATE_MAX = 150;
/** Requests that the last runtime loses in each trial. */
const LOST = 31;

export function shown(): Raw {
  const load = {
    name: "rise-and-hold", text: `line(20,${RATE_MAX},40s) const(${RATE_MAX},80s)`, seconds: 120,
    rate: (second: number) => Math.min(RATE_MAX, 20 + ((RATE_MAX - 20) * second) / 40),
  };
  const page = sample({
    seed: 31, runtimes: ALL.map((own) => own.name), app: "symfony", loads: [load], model: "open", rounds: ROUNDS, p95: ALL.map((own) => own.p95),
  });
  page.summary.notices = [];
  page.summary.cases.forEach((entry: Raw, place: number) => {
    entry.title = ALL[place]?.title;
    entry.not_comparable = [];
    entry.counts.restarts = 0;
    entry.forced = [];
    for (const own of [entry, ...entry.trials]) enlarge(own);
    centre(entry);
  });
  loses(page.summary.cases.at(-1));
  const curve = page.curves.at(-1);
  curve.failed_from = 99.797;
  curve.points = curve.points.filter(([percentile]: number[]) => (percentile ?? 0) < curve.failed_from);
  const next = random(5);
  for (const series of page.series) shape(series, next);
  page.evidence.runtimes.forEach((one: Raw, place: number) => observe(one, ALL[place] ?? ALL[0] as Own));
  compare(page);
  return page;
}

/** A framework takes more than the `hello` of the other samples. */
function enlarge(own: Raw): void {
  for (const figures of [own, ...Object.values(own.roles)] as Raw[]) {
    for (const name of ["cpu_percent_median", "cpu_percent_max"]) times(figures[name], 4.1);
    times(figures.cpu_cost_us, 9);
    for (const name of ["memory_bytes_median", "memory_bytes_max"]) times(figures[name], 14);
  }
}

function times(figure: Raw, by: number): void {
  if (figure.value === undefined) return;
  figure.value *= by;
  if (figure.interval) figure.interval = figure.interval.map((end: number) => end * by);
}

/** The case's times are the geometric means of its trials', and their intervals follow. */
function centre(entry: Raw): void {
  const counted = entry.trials.filter((trial: Raw) => trial.verdict !== "invalid");
  const logs = counted.map((trial: Raw) => Math.log(trial.response_time_ns.p95.value / entry.response_time_ns.p95.value));
  const mean = logs.reduce((sum: number, log: number) => sum + log, 0) / logs.length;
  const deviation = Math.sqrt(logs.reduce((sum: number, log: number) => sum + (log - mean) ** 2, 0) / (logs.length - 1));
  // Student's t for five trials.
  const half = Math.exp((2.78 * deviation) / Math.sqrt(logs.length));
  for (const set of ["response_time_ns", "service_time_ns"]) {
    for (const trial of entry.trials) for (const figure of Object.values(trial[set])) times(figure as Raw, Math.exp(-mean));
    for (const figure of Object.values(entry[set]) as Raw[]) {
      if (figure.value !== undefined) figure.interval = [figure.value / half, figure.value * half];
    }
  }
}

/** Some requests without a correct answer. */
function loses(entry: Raw): void {
  for (const own of [entry, ...entry.trials]) {
    const lost = LOST * (own === entry ? ROUNDS : 1);
    own.counts.ok -= lost;
    own.counts.failed = { "net: timeout": lost };
    own.ok_share.value = own.counts.ok / own.counts.planned;
    own.response_time_ns.max = { state: "failed" };
  }
}

/** Times that grow with the rate, and answers that come in time or a little late. */
function shape(series: Raw, next: () => number): void {
  const isLossy = series.case === ALL.length - 1;
  const p95 = ALL[series.case]?.p95 ?? 1e7;
  for (const name of ["mean", "p50", "p95", "p99", "max"]) {
    series[name] = series[name].map((us: number, second: number) => us * (0.55 + (0.45 * series.offered[second]) / RATE_MAX));
  }
  const bad = series.offered.map((_: number, second: number) => (isLossy && second > 70 && second < 90 ? [0, 1, 3, 2][second % 4] : 0));
  if (isLossy) series.failed = { "net: timeout": bad };
  series.ok = series.offered.map((rate: number, second: number) => rate - bad[second] + Math.round((next() - 0.5) * 3 * (p95 / 1e7)));
  series.in_flight = series.offered.map((rate: number, second: number) => Math.max(1, Math.round((rate * p95 * (1.3 + 0.5 * next())) / 1e9) + bad[second] * 2));
  const share = series.resources.at.map((at: number) => (series.offered[Math.floor(at)] ?? 0) / RATE_MAX);
  scale(series.resources.cpu_percent, (place) => 9 * share[place]);
  scale(series.resources.memory_mib, () => 14);
}

function scale(columns: Raw, by: (place: number) => number): void {
  for (const name of Object.keys(columns)) {
    columns[name] = columns[name].map((value: number | null, place: number) => (value === null ? null : value * by(place)));
  }
}

function observe(one: Raw, own: Own): void {
  const isCli = own.sapi === "cli-server";
  one.title = own.title;
  one.versions = { php: "8.2.35", ...(own.server ? { [own.server[0]]: own.server[1] } : {}) };
  one.settings = { workers: 4, keep_alive: true };
  one.observed = {
    php_version: "8.2.35", sapi: own.sapi, thread_safe: false, opcache: true, jit: false, workers: 4,
    extensions: ["Core", "date", "intl", "json", "mbstring", "pdo", "Zend OPcache", ...(isCli ? [] : [own.sapi])],
    ini: {
      memory_limit: "128M", "opcache.validate_timestamps": "0", realpath_cache_size: "4096K",
      max_execution_time: isCli ? "0" : "30", html_errors: isCli ? "0" : "1", implicit_flush: isCli ? "1" : "0",
    },
    notices: [],
  };
}

function compare(page: Raw): void {
  const [group] = page.summary.groups;
  const [best, ...others] = page.summary.cases;
  const p95 = (entry: Raw): number => entry.response_time_ns.p95.value;
  group.comparisons = others.map((entry: Raw, place: number) => {
    const value = p95(entry) / p95(best);
    return { runtime: entry.runtime, ratio: { value, interval: [value / 1.035, value * 1.036] }, relation: place === 0 ? "inconclusive" : "higher", why_not: null };
  });
  const ratio = ({ runtime, ratio: { value, interval } }: Raw) =>
    `${runtime} is slower than ${best.runtime}: its p95 is ${value.toFixed(2)} × as long (${interval[0].toFixed(2)} – ${interval[1].toFixed(2)}).`;
  const [tie, second, third] = group.comparisons;
  group.sentence = `No runtime is clearly ahead of ${best.runtime}. ${ratio(second)} ${ratio(third)} ${tie.runtime}: too close to call against ${best.runtime}; run again with \`--rounds 9\`.`;
  page.headlines = [{
    app: group.app, text: group.sentence, facts: [
      'Same pages on every runtime: / "Shop" 18.9 KB, /search 7.2 KB, /cart 3.1 KB.',
      `1 million requests cost 36 CPU-minutes with ${best.runtime}.`,
    ],
  }];
}

// Pure functions: numbers, scales, sorting, what differs, reading.

import assert from "node:assert/strict";
import { test } from "node:test";
import type uPlot from "uplot";
import { sections } from "../src/columns.ts";
import { facts, machineFacts, planLines, usual } from "../src/differ.ts";
import * as format from "../src/format.ts";
import { overAddress } from "../src/history.ts";
import { Kept } from "../src/kept.ts";
import { lookAt, runtimesOf } from "../src/look.ts";
import { linePath } from "../src/paths.ts";
import { address } from "../src/raw.ts";
import { readData, readNow, readPage } from "../src/read.ts";
import { renamed } from "../src/renamed.ts";
import { extent, logSteps, median, panned, pinched, place, steps, sums, tail, tailWords, zoomed } from "../src/scale.ts";
import { heights } from "../src/rows.ts";
import { shownOf } from "../src/shown.ts";
import { sorted } from "../src/sort.ts";
import { Store } from "../src/store.ts";
import { scaleOf } from "../src/versions.ts";
import { embedded, sample, samples, steady } from "./samples.ts";

const plain = (text: string) => text.replaceAll("\u202f", " ");

test("times have three significant digits at most, as on the terminal", () => {
  const cases: [number, string][] = [
    [32, "< 0.1 µs"], [96, "0.1 µs"], [5440, "5.4 µs"], [9970, "10.0 µs"], [99_950, "100 µs"], [583_400, "583 µs"], [999_499, "999 µs"], [999_500, "1.00 ms"],
    [3_594_000, "3.59 ms"], [11e9, "11.0 s"], [12_345e9, "12 345 s"],
  ];
  for (const [ns, words] of cases) assert.equal(plain(format.time(ns)), words);
});

test("bytes, rates, shares and counts", () => {
  assert.equal(plain(format.bytes(512)), "512 B");
  assert.equal(plain(format.bytes(11_356_143)), "10.8 MiB");
  assert.equal(plain(format.rate(99.98)), "99.98");
  assert.equal(plain(format.rate(199.9)), "199.9");
  assert.equal(plain(format.rate(12_345.4)), "12 345");
  assert.equal(plain(format.count(1_234_567)), "1 234 567");
  assert.equal(plain(format.count(-1234)), "−1 234");
  assert.equal(format.share(1), "100");
  assert.equal(format.share(0.9999999), "99.999");
  assert.equal(format.share(0.5), "50");
  assert.equal(format.share(0), "0");
  assert.equal(plain(format.share(1e-7)), "< 0.001");
  assert.equal(plain(format.ratio(1.236)), "1.24 ×");
});

test("thousands are told apart by a thin space", () => {
  assert.equal(format.count(14434), "14\u202f434");
});

test("figures that are no number are said", () => {
  assert.equal(plain(format.figure({ state: "at_least", value: 11e9, interval: null, trials: 1 }, format.time)), "≥ 11.0 s");
  assert.equal(format.figure({ state: "failed" }, format.time), "failed");
  assert.equal(format.figure({ state: "too_few" }, format.time), "—");
  assert.equal(format.figure(undefined, format.time), "—");
});

test("numbers in sentences keep their unit on the same line", () => {
  const tied = format.tied("p95 562 µs; 1.36 × (0.91 to 2.03), 5 more; 95 % over 3 rounds, 5 212 /s, 3 seconds");
  assert.equal(tied.replaceAll("\u202f", "_"), "p95 562_µs; 1.36_× (0.91 to 2.03), 5 more; 95_% over 3 rounds, 5_212_/s, 3 seconds");
});

test("dates keep their zone", () => {
  assert.equal(format.date("2026-11-21T11:03:07+00:00"), "2026-11-21 11:03 UTC");
  assert.equal(format.date("2026-11-21T11:03:07.123+02:00"), "2026-11-21 11:03 +02:00");
  assert.equal(format.date("yesterday"), "yesterday");
});

test("sorting puts what has no key last, either way, and keeps ties", () => {
  assert.deepEqual(sorted([3, null, 1, 2], "ascending"), [2, 3, 0, 1]);
  assert.deepEqual(sorted([3, null, 1, 2], "descending"), [0, 3, 2, 1]);
  assert.deepEqual(sorted([1, 1, 1], "descending"), [0, 1, 2]);
  assert.deepEqual(sorted(["a10", "a9", "b"], "ascending"), [1, 0, 2]);
});

test("the tail of the percentile curve", () => {
  assert.deepEqual([0, 50, 90].map((percentile) => tail(percentile, 1000)), [1, 2, 10]);
  assert.equal(tail(100, 3600), 3600);
  assert.deepEqual([1, 2, 4, 10, 20, 100, 1000, 1e4].map(tailWords), ["p0", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99"]);
});

test("scales hold values inside", () => {
  assert.equal(place(5, 0, 10, false), 50);
  assert.equal(place(50, 0, 10, false), 100);
  assert.equal(Math.round(place(10, 1, 100, true)), 50);
  assert.equal(place(1, 0, 0, false), 0);
  assert.equal(extent([1, 2], [null]).isLog, false);
  assert.equal(extent([1, 200], [null]).isLog, true);
  assert.deepEqual(extent([], []), { low: 0, high: 1, isLog: false });
  assert.deepEqual(steps(10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(logSteps(1, 20), [1, 2, 5, 10, 20]);
});

test("zoom and pan stay inside the whole", () => {
  assert.deepEqual(zoomed([0, 100], [0, 100], 0.5), [25, 75]);
  assert.equal(zoomed([25, 75], [0, 100], 2), null);
  assert.deepEqual(zoomed([0, 20], [0, 100], 2), [0, 40]);
  assert.deepEqual(panned([80, 100], [0, 100], 10), [80, 100]);
  assert.deepEqual(panned([40, 60], [0, 100], -50), [0, 20]);
});

test("median and sums", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2);
  assert.equal(median([]), null);
  assert.deepEqual(sums([[1, null, 5], [2, null]]), [3, null, null]);
  assert.deepEqual(sums([]), []);
});

test("forty runtimes look different", () => {
  const looks = Array.from({ length: 40 }, (_, at) => lookAt(at, null));
  assert.equal(new Set(looks.map((look) => `${look.colour} ${look.dash.join(",")}`)).size, 40);
});

test("what differs is found, and what most have", () => {
  assert.equal(usual(["a", "b", "b"]), "b");
  const runtime = (name: string, limit: string | null) => ({
    run: 0, name, title: "", mode: "per-request", versions: {}, settings: {}, commands: [], files: [], isolation: [],
    observed: limit === null ? null : {
      php_version: "8.2", sapi: "cli", thread_safe: false, opcache: true, jit: false, workers: 4, extensions: ["json"],
      ini: { memory_limit: limit }, notices: [],
    },
  });
  const differing = (limits: (string | null)[]) =>
    facts(limits.map((limit, at) => runtime(String(at), limit))).filter((fact) => fact.differs).map((fact) => fact.name);
  assert.deepEqual(differing(["128M", "128M"]), []);
  assert.deepEqual(differing(["128M", "256M"]), ["memory_limit"]);
  assert.deepEqual(differing(["128M", null]), []);
});

test("what is missing is said and never thrown", () => {
  const said = (text: string) => readPage(text).problems.join(" ");
  assert.match(said("__ANYTHING__"), /holds no data/);
  assert.match(said(""), /holds no data/);
  assert.match(said("{"), /cannot be read/);
  assert.match(said("null"), /format unknown/);
  assert.match(said('{"format": 3}'), /format 3; this page reads format 1 and 2/);
  assert.match(said('{"format": 2}'), /empty/);
  assert.match(said('{"format": 1}'), /empty/);
  for (const wrong of ["[]", "3", '{"format":1,"summary":[],"series":{},"evidence":7}', '{"format":1,"summary":{"cases":[null,3,{}]},"series":[null],"curves":[{"points":[null,[1]]}]}']) {
    assert.doesNotThrow(() => readPage(wrong), wrong);
  }
});

test("samples are read whole, and are the same each time", () => {
  const first = embedded(samples().demo);
  assert.equal(first, embedded(samples().demo));
  assert.deepEqual(readPage(first).problems, []);
  assert.equal(readPage(first).page.series.length, 18);
});

test("data cannot end its script element", () => {
  assert.doesNotMatch(embedded(samples().planted), /[<>&]/);
});

/** A page with one run in a state, and trials as `shown.ts` looks at them. */
function pageOf(state: string, more: Record<string, unknown> = {}) {
  const trial = (number: number, round: number, p95: number, verdict = "valid") => ({
    number, round, verdict, response_time_ns: { p95: { state: "exact", value: p95, trials: 1 } },
  });
  const series = (trial: number, round: number, unfinished = false) => ({ case: 0, trial, round, unfinished, ok: [1, 2] });
  const data = {
    format: 1,
    runs: [{ label: "", run: "r", state }],
    summary: { cases: [{ runtime: "a", app: "x", load: "y", model: "open", trials_missing: 1, trials: [trial(1, 1, 30), trial(2, 2, 10, "invalid"), trial(3, 3, 20), trial(4, 4, 25)] }] },
    series: [series(1, 1), series(2, 2), series(3, 3), series(4, 4), series(5, 5, true)],
    ...more,
  };
  return readPage(JSON.stringify(data));
}

test("the trial that is shown", () => {
  const pick = ({ page }: ReturnType<typeof pageOf>, round: number) => {
    const entry = page.summary.cases[0];
    const found = entry && shownOf(page, entry, "open", round);
    return found ? [found.series.trial, found.state] : null;
  };
  const cut = pageOf("cut_off");
  assert.deepEqual(pick(cut, 0), [4, "counts"], "the one in the middle of those that count");
  assert.deepEqual(pick(cut, 2), [2, "invalid"]);
  assert.deepEqual(pick(cut, 5), [5, "not_finished"]);
  assert.equal(pick(cut, 6), null);
  const isUnderWay = (seconds: number) => ({ progress: { ended: 4, planned: 5, under_way: { trial: 5, case: 0, seconds } } });
  assert.deepEqual(pick(pageOf("under_way", isUnderWay(2)), 0), [5, "under_way"]);
  assert.deepEqual(pick(pageOf("under_way", isUnderWay(2)), 1), [1, "counts"], "a round that the reader picked stays");
  assert.deepEqual(pick(pageOf("under_way"), 0), [4, "counts"], "it is another case's turn");
  const alone = pageOf("cut_off", { series: [{ case: 0, trial: 1, round: 1, unfinished: true, ok: [1] }] });
  assert.deepEqual(pick(alone, 0), [1, "not_finished"], "there is nothing but what was not finished");
});

test("a run that was cut off says so, one under way lacks nothing", () => {
  assert.match(pageOf("cut_off").problems.join(" "), /^The run was ended early: one trial of the plan is missing\. Trial 5 \(a, x · y\) was not finished/);
  assert.deepEqual(pageOf("under_way").problems, []);
  assert.match(pageOf("ended").problems.join(" "), /^One trial of the plan is missing\./);
});

test("colours follow the plan's order, whoever is ahead or has started", () => {
  const of = (cases: string[], started: string[]) => runtimesOf(readPage(JSON.stringify({
    format: 1, runs: [{ runtimes: ["a", "b", "c"] }],
    summary: { cases: cases.map((runtime) => ({ runtime })) },
    evidence: { runtimes: started.map((name) => ({ name })) },
  })).page);
  assert.deepEqual(of(["c", "b", "a"], []), ["a", "b", "c"]);
  assert.deepEqual(of(["b", "c", "a", "d"], ["c"]), ["a", "b", "c", "d"]);
});

test("data without runs have one all the same", () => {
  const { page } = readPage('{"format":1,"summary":{"run":"r","rounds":3,"seed":9,"cases":[{"runtime":"a"}]},"evidence":{"command":"c","machine":[["CPU","x"]]}}');
  assert.equal(page.runs.length, 1);
  assert.deepEqual([page.runs[0]?.run, page.runs[0]?.seed, page.runs[0]?.command, page.runs[0]?.state], ["r", 9, "c", "ended"]);
  assert.equal(page.progress, null);
  assert.equal(page.served, null);
});

test("what a case's figures rest on is read, and missing in pages of before", () => {
  const of = (evidence: unknown) => readPage(JSON.stringify({ format: 2, evidence })).page.evidence.cases;
  assert.deepEqual(of({ cases: [{ case: 1, figures: [["exhausted", "nothing"]] }] }), [{ case: 1, figures: [["exhausted", "nothing"]] }]);
  assert.deepEqual(of({ cases: [{ case: 0, figures: 3 }, null] })[0], { case: 0, figures: [] });
  assert.deepEqual(of({}), []);
});

test("what was found of an expected figure is a sentence, in any format", () => {
  const of = (figure: unknown) => {
    const expectations = [{ text: "ok >= 99%", outcome: "not_met", figure }];
    return readPage(JSON.stringify({ format: 2, summary: { cases: [{ expectations }] } })).page.summary.cases[0]?.expectations[0]?.figure;
  };
  assert.equal(of({ code: "value", value: 0.899, unit: "share", text: "89.9 %" }), "89.9 %");
  assert.equal(of("89.9 %"), "89.9 %");
  assert.equal(of(undefined), "");
});

test("published tables are read, and whatever else stands there", () => {
  assert.equal(readPage(JSON.stringify({ summary: {} })).page.summary.published, null);
  const table = {
    title: "A load",
    rows: [{ label: "one", runtime: "nginx-fpm" }, 7],
    columns: [{
      name: "p95", unit: "ms", better: "lower",
      entries: [
        { published: 12.5, measured: { state: "exact", value: 25 }, ratio: 2 },
        { published: "much", measured: { state: "failed" } }, { measured: 3 },
      ],
      orders: [{ sentence: "One order.", pairs: [{ better: 0, worse: 1, outcome: "disagree", reason: "why" }] }],
    }],
  };
  const raw = { publication: "Two servers", source: 5, tables: [table], claims: [{ text: "twice", sentences: ["No.", 4], checks: [{ against: "b", ratio: 2, interval: [1.5, 3] }, { interval: [1] }] }] };
  const read = readPage(JSON.stringify({ summary: { published: raw } })).page.summary.published;
  assert.equal(read?.source, null);
  const [column] = read?.tables[0]?.columns ?? [];
  assert.deepEqual(column?.entries.map((cell) => [cell.published, cell.measured.state, cell.ratio]), [
    [12.5, "exact", 2], [null, "failed", null], [null, "none", null],
  ]);
  assert.deepEqual(column?.orders[0]?.pairs, [{ better: 0, worse: 1, outcome: "disagree", reason: "why" }]);
  assert.deepEqual(read?.claims.map((claim) => claim.sentences), [["No.", "4"]]);
  assert.deepEqual(read?.claims[0]?.checks.map((check) => [check.against, check.ratio, check.interval]), [["b", 2, [1.5, 3]], ["", null, null]]);
});

test("two versions are read, and ratios share one scale around 1", () => {
  assert.equal(readPage(JSON.stringify({ summary: {} })).page.versions, null);
  const figure = { title: "p95", is_primary: true, judged: "worse", ratio: { value: 1.1, interval: [1.05, 1.2], trials: 3 }, noise: { value: 1, interval: "x" } };
  const raw = { base: "@main", noise: ["Noise.", 4], cases: [{ title: "a", figures: [figure, { judged: "odd", ratio: 7 }] }, 9] };
  const read = readPage(JSON.stringify({ versions: raw, summary: { cases: [{ is_noise: true }, {}] } })).page;
  assert.deepEqual(read.summary.cases.map((one) => one.is_noise), [true, false]);
  assert.deepEqual(read.versions?.noise, ["Noise.", "4"]);
  const [first, second] = read.versions?.cases[0]?.figures ?? [];
  assert.deepEqual([first?.judged, first?.ratio?.interval, first?.noise?.interval], ["worse", [1.05, 1.2], null]);
  assert.deepEqual([second?.judged, second?.ratio, second?.base], [null, null, ""]);
  const scale = scaleOf(read.versions?.cases[0]?.figures ?? []);
  assert.ok(scale && scale.high > 1.2 && Math.abs(scale.low * scale.high - 1) < 1e-9, "1 is in the middle");
  assert.equal(scaleOf([]), null);
  const wide = scaleOf([{ ratio: { value: 2, interval: [0.001, 4000], trials: 3 }, noise: null }]);
  assert.ok(wide && wide.high < 5, "one wide interval hides all others");
});

test("rows over the runs are read, whatever stands in them", () => {
  const point = (value: unknown) => ({ value, interval: [1, 2], text: "t" });
  const row = {
    runtime: "nginx-fpm", runs: [{ name: "a", commit: 5 }, { name: "b", changed_files: 3 }],
    figures: [{ title: "p95", points: [point(1), point("x"), point(3)], changes: [{ at: 1, is_worse: true, differences: ["d"] }, { at: 7 }] }],
  };
  const data = readData(JSON.stringify({ format: 2, rows: [row, null], runs_min: 10, pages: { a: "/run?name=a", b: "https://x/" }, served: { home: "/" } }));
  assert.equal(data.kind, "rows");
  if (data.kind !== "rows") return;
  const [first, second] = data.rows.rows;
  assert.deepEqual(first?.runs.map((run) => [run.commit, run.changed_files]), [[null, null], [null, 3]]);
  assert.deepEqual(first?.figures[0]?.points.map((one) => one.value), [1, null], "a point without a run");
  assert.deepEqual(first?.figures[0]?.changes.map((one) => one.at), [1], "a change without a run");
  assert.deepEqual(second?.figures, []);
  assert.deepEqual([data.rows.pages.a, data.rows.pages.b, data.rows.home], ["/run?name=a", "", "/"]);
  const { low, high } = heights({ points: [100, 101].map((value) => ({ value, interval: null, text: "" })) });
  assert.ok(high - low > 10 && low < 100 && high > 101, "noise of 1 % fills the chart");
});

test("what events bring is read as leniently", () => {
  assert.deepEqual(readNow("{"), { progress: null, series: null });
  const { progress, series } = readNow('{"format":1,"progress":{"ended":3,"planned":"x","under_way":{"trial":4}},"series":{"case":1,"unfinished":true,"ok":[1,"x"]}}');
  assert.deepEqual(progress, { ended: 3, planned: 0, under_way: { trial: 4, case: -1, seconds: 0 } });
  assert.deepEqual([series?.case, series?.unfinished, series?.ok], [1, true, [1, null]]);
});

test("the list of runs is read, whatever stands in it", () => {
  const data = readData(embedded(samples().list));
  assert.equal(data.kind, "list");
  if (data.kind !== "list") return;
  assert.deepEqual(data.list.entries.map((one) => one.state), ["under_way", "ended", "cut_off", "ended", "unreadable", "ended"]);
  assert.equal(data.list.entries[5]?.page, "", "an address that runs a script");
  const wrong = readData('{"format":1,"history":[null,3,{"state":"x","answers":{}}],"served":7}');
  assert.ok(wrong.kind === "list" && wrong.list.entries.length === 3 && wrong.list.entries[2]?.state === "unreadable");
});

test("addresses are of this server alone", () => {
  for (const good of ["/", "/?token=a", "/run?token=a&run=b%20c"]) assert.equal(address(good), good);
  for (const bad of ["", "x", "//x", "/\\x", "/\t/x", "javascript:1", "https://x/", null, 7]) assert.equal(address(bad), "", String(bad));
  assert.equal(overAddress("/over?", ["a", "b&c=d/</script>"]), "/over?run=a&run=b%26c%3Dd%2F%3C%2Fscript%3E");
});

test("lines of several runs look different, and a runtime keeps its colour", () => {
  const looks = Array.from({ length: 12 }, (_, place) => [0, 1, 2].map((run) => lookAt(place, run)));
  const all = looks.flat().map((look) => `${look.colour} ${look.dash.join(",")} ${look.marker}`);
  assert.equal(new Set(all).size, 36);
  for (const runs of looks) assert.equal(new Set(runs.map((look) => look.colour)).size, 1);
});

test("lines are off by runtime and by run", () => {
  const { page } = readPage(embedded(samples().overlay));
  const kept = new Kept();
  const store = new Store(page, kept);
  assert.deepEqual(store.runtimes.slice(0, 2), ["php-builtin", "lighttpd-fcgi"]);
  assert.equal(store.runtimes.length, 7);
  store.flip("run", "B");
  assert.deepEqual([store.isOn("php-builtin (A)"), store.isOn("php-builtin (B)")], [true, false]);
  store.only("runtime", "php-builtin");
  assert.deepEqual([store.isOn("php-builtin (A)"), store.isOn("lighttpd-fcgi (A)")], [true, false]);
  assert.equal(new Store(page, kept).isOn("lighttpd-fcgi (A)"), false, "what was chosen is lost with the page");
  store.all();
  assert.ok(store.isAllOn());
});

test("machines and plans of runs are held against each other", () => {
  const { page } = readPage(embedded(samples().overlay));
  const differing = machineFacts(page.runs).filter((fact) => fact.differs).map((fact) => fact.name);
  assert.deepEqual(differing, ["CPUs", "virtual machine"]);
  assert.equal(machineFacts(page.runs)[0]?.name, "CPU", "the machine's own order is lost");
  const unknown = page.runs.map((run, place) => (place === 0 ? { ...run, machine: [] } : run));
  assert.deepEqual(machineFacts(unknown).filter((fact) => fact.differs), [], "what is not known differs");
  assert.deepEqual(planLines("a\n  b\n\nc", ["a\nb"]).map((line) => line.isOdd), [false, false, false, true]);
});

test("a time is marked where the generator's own delay makes much of it", () => {
  const demo = sample({ seed: 1, runtimes: ["a"], app: "hello", loads: [steady("steady", 300, 40)], model: "open", rounds: 3 });
  const mark = { figure: "p95", time_ns: 310e3, without_lag_ns: 30e3 };
  demo.summary.cases[0].lag_marks = [mark, { ...mark, figure: "p99", may: true }, { ...mark, figure: "p42" }];
  const { groups, cases } = readPage(embedded(demo)).page.summary;
  const [group, entry] = [groups[0], cases[0]];
  assert.ok(group && entry);
  const fields = sections(group, cases)[0]?.columns.map(({ title, field }) => ({ name: title, ...field(entry) })) ?? [];
  const marked = fields.filter((field) => field.text.endsWith("†"));
  assert.deepEqual(marked.map(({ name, title }) => [name, plain(title ?? "")]),
    [["p95", "p95 310 µs, of which 280 µs is the generator's own delay"],
     ["p99", "p99 310 µs, of which up to 280 µs may be the generator's own delay: a Unix socket does not say when an answer arrived"]]);
});

test("two fingers keep what is under them", () => {
  assert.deepEqual(pinched([20, 60], [0, 100], [0.25, 0.75], [0.25, 0.75]), [20, 60]);
  // 30 and 50 were under the fingers; now they stand at the ends.
  assert.deepEqual(pinched([20, 60], [0, 100], [0.25, 0.75], [0, 1]), [30, 50]);
  assert.equal(pinched([0, 90], [0, 100], [0, 1], [0.4, 0.6]), null);
  assert.deepEqual(pinched([0, 50], [0, 100], [0.5, 0.5], [0.5, 0.5]), [0, 50]);
});

test("what is chosen is kept by name, and gives way where it is gone", () => {
  const kept = new Kept();
  kept.choice("x", 1).value = 2;
  assert.equal(kept.choice("x", 1).value, 2);
  kept.oneOf("y", ["", "a"]).value = "a";
  assert.equal(kept.oneOf("y", ["", "a", "b"]).value, "a");
  assert.equal(kept.oneOf("y", ["", "b"]).value, "");
});

test("a line breaks where nothing was read, and keeps what is lowest and highest in a column of pixels", () => {
  const drawn: string[] = [];
  const path = class {
    moveTo(x: number, y: number): void { drawn.push(`M${x} ${y}`); }
    lineTo(x: number, y: number): void { drawn.push(`L${x} ${y}`); }
  };
  Object.assign(globalThis, { Path2D: path });
  const of = (each: number, values: (number | null | undefined)[]) => {
    drawn.length = 0;
    const plot = {
      data: [values.map((_, row) => row), values],
      scales: { x: { distr: 1, min: 0, max: 10 }, y: { distr: 1, min: 0, max: 10 } },
      valToPos: (value: number, scale: string) => (scale === "x" ? value * each : value),
    } as unknown as uPlot;
    linePath(plot, 1, 0, values.length - 1);
    return drawn.join(" ");
  };
  assert.equal(of(10, [1, 2, null, 3, undefined, 4]), "M0 1 L10 2 M30 3 L50 4");
  assert.equal(of(0.25, [5, 9, 7, 1, 6]), "M0 5 L0 9 L1 7 L1 1");
});

test("data of an earlier version is read by today's names", () => {
  const old = { cells: [{ lateness_ns_p99: 3, name: "cells" }], cell: 1, ok: [1, null] }; // old words
  assert.deepEqual(renamed(old), { cases: [{ schedule_lag_ns_p99: 3, name: "cells" }], case: 1, ok: [1, null] }); // old words
  assert.deepEqual(renamed({ case: 1, cell: 2 }), { case: 1 }); // old words
});

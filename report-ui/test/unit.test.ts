// Pure functions: numbers, scales, sorting, what differs, reading.

import assert from "node:assert/strict";
import { test } from "node:test";
import { facts, usual } from "../src/differ.ts";
import * as format from "../src/format.ts";
import { lookAt } from "../src/look.ts";
import { readPage } from "../src/read.ts";
import { extent, logSteps, median, panned, place, steps, sums, tail, tailWords, zoomed } from "../src/scale.ts";
import { sorted } from "../src/sort.ts";
import { embedded, samples } from "./samples.ts";

const plain = (text: string) => text.replaceAll("\u202f", " ");

test("times have three significant digits, as on the terminal", () => {
  const cases: [number, string][] = [
    [12, "12.0 ns"], [1000, "1.00 µs"], [583_400, "583 µs"], [999_499, "999 µs"], [999_500, "1.00 ms"],
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
  assert.match(said('{"format": 2}'), /format 2; this page reads format 1/);
  assert.match(said('{"format": 1}'), /empty/);
  for (const wrong of ["[]", "3", '{"format":1,"summary":[],"series":{},"evidence":7}', '{"format":1,"summary":{"cells":[null,3,{}]},"series":[null],"curves":[{"points":[null,[1]]}]}']) {
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

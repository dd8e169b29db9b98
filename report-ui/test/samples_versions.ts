// Sample data of two versions of an app, and of rows over many runs.

import { sample, type Options, type Raw } from "./samples.ts";

/** A run with another version, which was measured twice in each round. */
export function versions(demo: Options): Raw {
  const page = sample({ ...demo, seed: 21 });
  const ratio = (value: number, width: number) => ({ value, interval: [value / width, value * width], trials: 5 });
  const figure = (title: string, is_primary: boolean, value: number, judged: string, result: string): Raw => ({
    title, is_primary, base: "4.02 ms", other: "4.46 ms", change: `${value.toFixed(2)} ×`, interval: "1.05 – 1.17",
    result, judged, ratio: ratio(value, 1.06), noise: ratio(1.01, 1.04), noise_text: "1.01 × (0.97 – 1.05)",
  });
  page.versions = {
    base: "@main",
    cases: [{
      title: "php-builtin · hello · steady: const(200,10s)",
      sentence: "working tree is slower than @main: p95 of response time 1.11 × (1.05 – 1.17).",
      figures: [
        figure("p95", true, 1.11, "worse", "slower"), figure("CPU/request", false, 0.94, "better", "less"),
        { ...figure("ok", false, 1, "equivalent", "about the same"), change: "0 points", interval: "", ratio: null, noise: null, noise_text: "0 points" },
      ],
      notes: ["p95 worse < 5%: not met: 11 % worse"],
    }],
    noise: ["Noise of the day: @main against itself, in the same rounds:", "php-builtin · steady: p95 1.01 × (0.97 – 1.05); a difference in p95 up to 5 % may be noise"],
  };
  const last = page.summary.cases.at(-1);
  if (last) last.is_noise = true;
  return page;
}

const RUNS = 24;

/** Rows over many runs: one with a step in CPU time, and one that has two runs alone. */
export function rows(): Raw {
  const runs = Array.from({ length: RUNS }, (_, at) => ({
    name: `202610${String(at + 1).padStart(2, "0")}-090000-ab${at}`,
    started_at: `2026-10-${String(at + 1).padStart(2, "0")}T09:00:00+00:00`,
    commit: at % 2 ? null : "0123456789abcdef0123456789abcdef01234567", changed_files: at % 4 ? null : 2,
  }));
  const figure = (title: string, base: number, step: number, unit: string): Raw => ({
    title, is_good: false,
    points: runs.map((_, at) => {
      const value = base * (at < 16 ? 1 : step) * (1 + ((at * 7) % 5 - 2) / 200);
      return { value, interval: [value * 0.985, value * 1.015], text: `${value.toFixed(2)} ${unit}` };
    }),
    changes: step === 1 ? [] : [{
      at: 16, is_worse: true, text: `more from ${runs[16]?.name} on (2026-10-17): 1.08 × (1.07 – 1.09)`,
      differences: ["PHP: `8.4.13` in one run, `8.4.14` in the next (nginx-fpm)"],
    }],
  });
  const row = { runtime: "nginx-fpm", app: "shop", load: "busy: const(200,30s)", machine: "4 × AMD EPYC 7543", is_control: false };
  const short = (figures: Raw[]) => figures.map((one) => ({ ...one, points: one.points.slice(0, 2), changes: [] }));
  const figures = [figure("p95 of response time", 6.4, 1, "ms"), figure("CPU/request", 278, 1.08, "µs"), figure("memory max", 64, 1, "MiB")];
  return {
    format: 2, stampede: "0.1.0", results: "/srv/results",
    rows: [{ ...row, runs, figures }, { ...row, runtime: "php-builtin", is_control: true, runs: runs.slice(0, 2), figures: short(figures) }],
    runs_min: 10, older: 3,
    pages: Object.fromEntries(runs.map(({ name }) => [name, `/run?name=${name}`])),
    served: { home: "/", events: null },
  };
}

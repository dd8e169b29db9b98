// How fast a pan is: `npm run pan [PAGE]...`. Each page, or else the large sample, is panned with the
// pointer on a chart and six charts on the screen; beside it an animation of one empty canvas, which
// is as fast as this browser can be. Of several pages the rounds alternate, so that a machine that is
// busy is so for all of them.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { here, launch } from "./browser.ts";
import { writeSamples } from "./samples.ts";

const ROUNDS = 5;
const FRAMES = 60;

interface Event {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** CPU time in µs. */
  tdur?: number;
  args: { name?: string };
}

/** In ms: from frame to frame, and CPU time of the page's thread in each, whole and of scripts. */
interface Round {
  frame: number;
  cpu: number;
  script: number;
}

async function open(browser: Browser, file: string | null): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
  if (file === null) {
    await page.setContent("<canvas width=1500 height=800></canvas>");
    return page;
  }
  await page.goto(pathToFileURL(file).href);
  const chart = page.locator("#charts .chart").first();
  await chart.scrollIntoViewIfNeeded();
  await chart.locator(".uplot").waitFor();
  // What comes into view is drawn, and moves what is below.
  for (let time = 0; time < 4; time += 1) {
    await chart.evaluate((element) => scrollBy(0, element.getBoundingClientRect().top - 60));
    await page.waitForTimeout(200);
  }
  await page.locator("#charts .panel").first().getByRole("button", { name: "Zoom in" }).evaluate((button: HTMLElement) => button.click());
  await chart.locator(".u-over").hover({ position: { x: 100, y: 60 } });
  return page;
}

/** The times from frame to frame. */
function pan(page: Page): Promise<number[]> {
  return page.evaluate(async (frames) => {
    const over = document.querySelector("#charts .u-over");
    const empty = over ? null : document.querySelector("canvas")?.getContext("2d");
    const taken: number[] = [];
    let last = await new Promise(requestAnimationFrame);
    for (let step = 0; step < frames; step += 1) {
      over?.dispatchEvent(new WheelEvent("wheel", { deltaX: step % 20 < 10 ? 30 : -30, bubbles: true, cancelable: true }));
      empty?.clearRect(0, 0, 1500, 800);
      empty?.fillRect(step * 10, 0, 10, 10);
      const now = await new Promise(requestAnimationFrame);
      taken.push(now - last);
      last = now;
    }
    return taken;
  }, FRAMES);
}

async function round(browser: Browser, page: Page): Promise<Round> {
  await page.bringToFront();
  await browser.startTracing(page, { categories: ["devtools.timeline", "toplevel"] });
  const frames = await pan(page);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: Event[] };
  const threads = traceEvents.filter((event) => event.name === "thread_name" && event.args.name === "CrRendererMain");
  const isMain = ({ pid, tid }: Event) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
  const spent = (name: string) => {
    const own = traceEvents.filter((event) => event.ph === "X" && event.name === name && isMain(event));
    return own.reduce((sum, event) => sum + (event.tdur ?? 0), 0) / 1000 / FRAMES;
  };
  return { frame: middle(frames), cpu: spent("ThreadControllerImpl::RunTask"), script: spent("FireAnimationFrame") };
}

function middle(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

async function main(): Promise<void> {
  const given = process.argv.slice(2).map((file) => resolve(file));
  if (given.length === 0) {
    const directory = mkdtempSync(join(tmpdir(), "stampede-pan-"));
    writeSamples(here("../dist/index.html"), directory);
    given.push(join(directory, "large.html"));
  }
  const browser = await launch();
  try {
    const subjects: { name: string; page: Page; rounds: Round[] }[] = [];
    for (const file of [null, ...given]) {
      subjects.push({ name: file ?? "an empty canvas", page: await open(browser, file), rounds: [] });
    }
    for (let time = 0; time < ROUNDS; time += 1) {
      for (const { page, rounds } of subjects) rounds.push(await round(browser, page));
    }
    for (const { name, rounds } of subjects) {
      const of = (what: keyof Round) => {
        const all = rounds.map((one) => one[what]).sort((a, b) => a - b);
        return `${middle(all).toFixed(1)} ms (${all[0]?.toFixed(1)} to ${all.at(-1)?.toFixed(1)})`;
      };
      console.log(`${name}: median frame ${of("frame")}; the page's CPU time a frame ${of("cpu")}, scripts ${of("script")}`);
    }
  } finally {
    await browser.close();
  }
}

await main();

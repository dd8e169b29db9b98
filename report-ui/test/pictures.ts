// The pictures in the docs, taken from the built page with a sample. The end-to-end test takes
// them into its own directory each time, so that they can be taken, and asks that those which the docs
// name are there; `npm run pictures` puts them into the docs.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { here, launch, openAt } from "./browser.ts";
import { smaller } from "./png.ts";
import { filled } from "./samples.ts";
import { shown } from "./shown.ts";

const DOCS = here("../../docs");
const BYTES_MAX = 150_000;
const WIDTH = 1200;

/** Fails when a picture that the docs name does not exist, or is too large. */
export function picturesAreThere(): void {
  const text = readFileSync(join(DOCS, "reading-a-report.md"), "utf8");
  const named = [...text.matchAll(/!\[[^\]]*\]\(([^)\s]+)/g)].map(([, path]) => path ?? "");
  assert.ok(named.length >= 4, "docs/reading-a-report.md names fewer pictures than it should");
  for (const path of named) {
    const file = join(DOCS, path);
    assert.ok(existsSync(file), `docs/reading-a-report.md names \`${path}\`, which does not exist: \`npm run pictures\``);
    assert.ok(statSync(file).size < BYTES_MAX, `\`${path}\` has more than ${BYTES_MAX} bytes`);
  }
}

/** Takes all of them into a directory. */
export async function takePictures(browser: Browser, directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, "shown.html");
  writeFileSync(file, filled(readFileSync(here("../dist/index.html"), "utf8"), shown()));
  try {
    await take(browser, pathToFileURL(file).href, (name, png) => save(join(directory, `${name}.png`), png));
  } finally {
    rmSync(file);
  }
}

async function take(browser: Browser, address: string, save: (name: string, png: Buffer) => void): Promise<void> {
  const { page, faults } = await openAt(browser, address, { width: WIDTH });
  await page.setViewportSize({ width: WIDTH, height: 1500 });
  save("report-answer", await page.screenshot({ clip: await around(page, ["header", "#answers"], 12) }));
  await page.locator("#charts").scrollIntoViewIfNeeded();
  const charts = page.locator(".charts .chart");
  await page.evaluate(() => scrollTo(0, (document.getElementById("charts")?.offsetTop ?? 0) - 10));
  await page.locator(".charts .chart .uplot").first().waitFor();
  await charts.nth(1).locator(".u-over").hover({ position: { x: 318, y: 60 } });
  await page.waitForTimeout(200);
  save("report-time", await page.screenshot({ clip: await around(page, [".legend", ".charts .chart:nth-child(4)"], 12) }));
  await page.mouse.move(0, 0);
  const two = page.locator(".charts.two .chart");
  await page.evaluate(() => document.querySelector(".charts.two")?.scrollIntoView());
  await two.nth(1).locator(".uplot").waitFor();
  await page.waitForTimeout(200);
  save("report-percentiles", await page.screenshot({ clip: await around(page, [".charts.two .chart:nth-child(2)", ".charts.two .chart:nth-child(3)"], 8) }));
  await page.evaluate(() => document.getElementById("settings")?.scrollIntoView());
  await page.waitForTimeout(200);
  save("report-evidence", await page.screenshot({ clip: await around(page, ["#settings", "#configuration"], 12) }));
  assert.deepEqual(faults, []);
}

/** The part of the screen that holds all of these. */
async function around(page: Page, selectors: string[], room: number): Promise<{ x: number; y: number; width: number; height: number }> {
  const boxes = await Promise.all(selectors.map(async (one) => {
    const box = await page.locator(one).first().boundingBox();
    assert.ok(box, `there is no \`${one}\``);
    return box;
  }));
  const top = Math.max(0, Math.min(...boxes.map((box) => box.y)) - room);
  const bottom = Math.min(1500, Math.max(...boxes.map((box) => box.y + box.height)) + room);
  return { x: 0, y: top, width: WIDTH, height: bottom - top };
}

function save(path: string, png: Buffer): void {
  const bytes = smaller(png);
  assert.ok(bytes.length < BYTES_MAX, `${path} has ${bytes.length} bytes`);
  writeFileSync(path, bytes);
}

async function main(): Promise<void> {
  const browser = await launch();
  try {
    await takePictures(browser, join(DOCS, "images"));
  } finally {
    await browser.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

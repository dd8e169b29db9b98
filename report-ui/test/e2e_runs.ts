// Several runs laid over each other, runs that were cut off, the list of runs, and fingers.

import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, CDPSession, Page } from "playwright-core";
import { eventually, ink, openAt, scrollThrough, type Opened, type View } from "./browser.ts";

export async function runs(browser: Browser, pages: string, directory: string): Promise<void> {
  const open = (name: string, view: View = { width: 1200 }) =>
    openAt(browser, pathToFileURL(join(pages, `${name}.html`)).href, view);
  await overlays(await open("overlay"), directory);
  await loadsApart(await open("overlay_loads"), directory);
  await cutOff(await open("unfinished"), directory);
  await underWay(await open("under_way"));
  await lists(await open("list"));
  await listsNothing(await open("list_empty"));
  await versions(await open("versions"), directory);
  await versions(await open("versions", { width: 390 }), directory);
  await rows(await open("rows"), directory);
  await rows(await open("rows", { width: 390 }), directory);
  await rowsNothing(await open("rows_empty"));
  await fingers(await open("demo", { width: 400, hasTouch: true }));
}

async function close({ page, faults }: Opened): Promise<void> {
  assert.deepEqual(faults, []);
  await page.close();
}

async function overlays(opened: Opened, directory: string): Promise<void> {
  const { page } = opened;
  assert.match(await page.locator("#runs").innerText(), /A\s+20261121-110307-d6f4\s+ended\s+2026-11-21 11:03 UTC.*B\s+20261123-081500-77aa\s+ended early\s+2026-11-23 08:15 UTC/s);
  assert.match(await page.locator(".problem").innerText(), /^Run B was ended early/);
  assert.equal(await page.locator(".ranking .rank, .ranking .against").count(), 0, "runs are compared with each other");
  const names = await page.locator(".ranking .who-name").allInnerTexts();
  assert.deepEqual(names.slice(0, 4), ["php-builtin (A)", "php-builtin (B)", "lighttpd-fcgi (A)", "lighttpd-fcgi (B)"]);
  await looksOfRuns(page);
  await page.locator("#charts").scrollIntoViewIfNeeded();
  await page.locator(".chart .uplot").first().waitFor();
  const before = await ink(page);
  const label = () => page.locator(".chart canvas").first().getAttribute("aria-label");
  await page.getByRole("button", { name: "run B" }).click();
  assert.doesNotMatch((await label()) ?? "", /\(B\)/, "a run that is off is still drawn");
  assert.notEqual(await ink(page), before);
  await page.getByRole("button", { name: "php-builtin" }).first().click();
  assert.doesNotMatch((await label()) ?? "", /php-builtin/);
  await page.getByRole("button", { name: "All lines on" }).click();
  assert.match((await label()) ?? "", /php-builtin \(A\).*php-builtin \(B\)/);
  await page.locator(".chart .uplot").first().screenshot({ path: join(directory, "overlay-chart.png") });
  const differing = await page.locator("#machine tr.differs th").allTextContents();
  for (const name of ["CPUs", "virtual machine", "seed"]) assert.ok(differing.includes(name), `${name} differs, and is not marked`);
  assert.ok(!differing.includes("kernel"), "what is the same is marked");
  assert.deepEqual(await page.locator("#settings tr.differs th").allTextContents(), ["workers"], "a runtime is not held against itself in the other run");
  assert.deepEqual((await page.locator("#settings thead th").allTextContents()).slice(1, 3), ["php-builtin (A)", "php-builtin (B)"]);
  await page.locator("#plan details").last().evaluate((one: HTMLDetailsElement) => { one.open = true; });
  assert.deepEqual(await page.locator("#plan mark").allTextContents(), ["workers: 8", "  - frankenphp-worker"]);
  assert.equal(await page.getByRole("button", { name: "Copy" }).count(), 2);
  assert.match((await page.locator("#verdicts tbody th").allTextContents()).join(" "), /A.1.*B.1/s);
  await close(opened);
}

/** Both versions stand side by side, and the second measurement is in no ranking. */
async function versions(opened: Opened, directory: string): Promise<void> {
  const { page } = opened;
  const shown = page.locator("#versions");
  assert.match(await shown.locator("h2").innerText(), /Working tree against @main/);
  assert.match(await shown.locator(".noise").innerText(), /up to 5\s% may be noise/);
  assert.equal(await shown.locator(".noise-band").count(), 2, "a share has no band");
  assert.equal(await shown.locator("td.bad").count(), 1);
  const { ranked, all } = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
    const names = [...document.querySelectorAll(".ranking .who-name")].map((one) => one.textContent);
    return { ranked: names.length, all: data.summary.cases.length };
  });
  assert.equal(ranked, all - 1, "what measures noise is ranked");
  const width = page.viewportSize()?.width ?? 0;
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, "the page is wider than the screen");
  await shown.screenshot({ path: join(directory, `versions-${width}.png`) });
  await close(opened);
}

/** Each row is drawn over the runs, and each dot leads to its run. */
async function rows(opened: Opened, directory: string): Promise<void> {
  const { page } = opened;
  assert.equal(await page.locator(".over-runs figure").count(), 6);
  assert.equal(await page.locator(".over-runs line.change").count(), 1);
  assert.match(await page.locator(".changes").innerText(), /CPU\/request: more from .* on/);
  assert.match((await page.locator(".over-runs a").first().getAttribute("href")) ?? "", /^\/run\?name=/);
  assert.match(await page.locator(".about").first().innerText(), /3 older runs not read/);
  const width = page.viewportSize()?.width ?? 0;
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, "the page is wider than the screen");
  await page.screenshot({ path: join(directory, `rows-${width}.png`), fullPage: true });
  await close(opened);
}

async function rowsNothing(opened: Opened): Promise<void> {
  assert.match(await opened.page.locator(".nothing-yet").innerText(), /No row has two runs yet/);
  await close(opened);
}

/** A load that one run alone has is said, and the other's lines go on past it. */
async function loadsApart(opened: Opened, directory: string): Promise<void> {
  const { page } = opened;
  await page.locator("#across").scrollIntoViewIfNeeded();
  assert.equal(await page.locator("#across .panel > .note").innerText(), "Not in every run: busy in A only.");
  await page.locator("#across .uplot").first().waitFor();
  await page.waitForTimeout(100);
  await page.locator("#across .chart").first().screenshot({ path: join(directory, "overlay-loads-chart.png") });
  await page.locator("#across .behind summary").first().click();
  const empty = page.locator("#across .behind tbody tr").nth(1).locator("td", { hasText: "—" });
  await eventually(async () => (await empty.count()) === 2, "the load that one run lacks is not empty in the table");
  await close(opened);
}

/** A runtime's colour is the same in both runs; its dash and its marker are not. */
async function looksOfRuns(page: Page): Promise<void> {
  const looks = await page.locator(".ranking .who .swatch").evaluateAll((swatches) => swatches.slice(0, 2).map((one) => ({
    colour: one.querySelector(".line")?.getAttribute("class"),
    rest: `${one.querySelector(".line")?.getAttribute("stroke-dasharray")} ${one.querySelector(".marker")?.getAttribute("d")}`,
  })));
  assert.equal(looks[0]?.colour, looks[1]?.colour);
  assert.notEqual(looks[0]?.rest, looks[1]?.rest);
}

async function cutOff(opened: Opened, directory: string): Promise<void> {
  const { page } = opened;
  const problem = page.locator(".problem");
  assert.match(await problem.innerText(), /^The run was ended early: 10 trials of the plan are missing\. Trial 9 \(apache-modphp, .*counts for nothing/);
  const box = await problem.boundingBox();
  assert.ok(box && box.y < 300, "that it was ended early is not on the first screen");
  assert.match(await page.locator("h1").innerText(), /ended early/);
  await page.locator("#charts").scrollIntoViewIfNeeded();
  await page.locator(".chart .uplot").first().waitFor();
  const label = () => page.locator(".chart canvas").first().getAttribute("aria-label");
  assert.doesNotMatch((await label()) ?? "", /not finished/, "an unfinished trial stands for one that ended");
  await page.locator(".toolbar select").selectOption({ label: "round 2 (with invalid trials, with a trial not finished)" });
  assert.match((await label()) ?? "", /apache-modphp \(not finished\)/);
  assert.match(await page.locator(".panel .note").first().innerText(), /apache-modphp: trial 9 was not finished.*faint/);
  await page.locator(".chart .uplot").first().screenshot({ path: join(directory, "unfinished-chart.png") });
  await close(opened);
}

/** The same in a file: nothing is asked for. */
async function underWay(opened: Opened): Promise<void> {
  const { page } = opened;
  const bar = page.getByRole("progressbar");
  assert.equal(await bar.getAttribute("aria-valuenow"), "3");
  assert.equal(await bar.getAttribute("aria-valuemax"), "18");
  assert.match(await page.locator(".live-line").innerText(), /Trial 4 of 18\s+nginx-fcgi\s+hello · steady\s+9\u202fs of its load/);
  assert.equal(await page.locator(".problem").count(), 0, "what is to come is called missing");
  assert.deepEqual(await page.locator(".ranking .coming .badge").allInnerTexts(), ["running", "not comparable", "to come", "to come"]);
  assert.doesNotMatch(await page.locator("main").innerText(), /missing/);
  assert.match(await page.locator(".panel .note").first().innerText(), /nginx-fcgi: trial 4 is running\. Still to come: apache-fpm and nginx-fpm\./);
  await close(opened);
}

async function lists(opened: Opened): Promise<void> {
  const { page } = opened;
  assert.equal(await page.locator(".history tbody tr").count(), 6);
  assert.deepEqual(await page.locator(".history .state .badge").allInnerTexts(), ["running", "ended", "ended early", "ended", "unreadable", "ended"]);
  assert.equal(await page.locator(".history a").first().getAttribute("href"), "/run?run=20261123-091500-0c1e");
  assert.match(await page.locator(".history .why").innerText(), /run\.json: expected value/);
  assert.equal(await page.locator("#page img, #page script, a[href^=javascript]").count(), 0);
  assert.equal(await page.evaluate(() => (window as unknown as { planted?: number }).planted), undefined);
  assert.equal(await page.getByRole("checkbox").count(), 4, "what cannot be shown can be chosen");
  assert.match(await page.locator(".over").innerText(), /Choose two runs/);
  await page.getByRole("checkbox").nth(2).check();
  assert.match(await page.locator(".over").innerText(), /choose another/);
  assert.equal(await page.locator(".over a").count(), 0);
  await page.getByRole("checkbox").nth(1).check();
  assert.equal(await page.locator(".over a").getAttribute("href"), "/over?run=20261123-081500-77aa&run=20261122-230104-51b2");
  await page.locator("summary").click();
  assert.equal(await page.locator("details p").count(), 2);
  await close(opened);
}

async function listsNothing(opened: Opened): Promise<void> {
  const { page } = opened;
  assert.match(await page.locator("main").innerText(), /There is no run yet\s+There is none in \/srv\/results\. stampede compare makes one/);
  await close(opened);
}

/** One finger pans what is zoomed, two zoom, and the page still scrolls. */
async function fingers(opened: Opened): Promise<void> {
  const { page } = opened;
  await page.locator("#charts .toolbar").scrollIntoViewIfNeeded();
  await scrollThrough(page);
  const over = page.locator(".u-over").first();
  const reset = page.getByRole("button", { name: "Reset" });
  await page.evaluate(() => document.querySelector(".u-over")?.scrollIntoView({ block: "center" }));
  const box = await over.boundingBox();
  assert.ok(box);
  const client = await page.context().newCDPSession(page);
  const at = (x: number, y = 0.5) => ({ x: box.x + box.width * x, y: box.y + box.height * y });
  const cursor = () => page.locator(".tip:visible b").allInnerTexts();
  await drag(client, [[at(0.3)], [at(0.5)], [at(0.6)]]);
  await eventually(async () => (await cursor()).length === 1, "a finger does not point");
  assert.equal(await reset.isDisabled(), true, "a finger pans what is not zoomed");
  await drag(client, [[at(0.4), at(0.6)], [at(0.3), at(0.7)], [at(0.2), at(0.8)]]);
  await eventually(async () => !(await reset.isDisabled()), "two fingers do not zoom");
  await page.waitForTimeout(200);
  const near = await ink(page);
  await drag(client, [[at(0.7)], [at(0.5)], [at(0.3)]]);
  await eventually(async () => (await ink(page)) !== near, "a finger does not pan what is zoomed");
  const before = await page.evaluate(() => scrollY);
  await drag(client, [[at(0.5, 0.9)], [at(0.5, 0.5)], [at(0.5, 0.1)], [at(0.5, -0.4)], [at(0.5, -0.8)]]);
  await eventually(async () => (await page.evaluate(() => scrollY)) > before + 20, "the page does not scroll where a chart is");
  await page.getByRole("button", { name: "Zoom out" }).tap();
  await page.getByRole("button", { name: "Zoom out" }).tap();
  assert.equal(await reset.isDisabled(), true, "the buttons do not work with a finger");
  await close(opened);
}

type Point = { x: number; y: number };

async function drag(client: CDPSession, steps: Point[][]): Promise<void> {
  for (const [place, points] of steps.entries()) {
    const touchPoints = points.map((point, id) => ({ ...point, id }));
    await client.send("Input.dispatchTouchEvent", { type: place === 0 ? "touchStart" : "touchMove", touchPoints });
    await new Promise((done) => setTimeout(done, 30));
  }
  await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

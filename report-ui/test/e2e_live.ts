// Pages that are served and fill up: a small server of this machine plays `stampede serve`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { axe, eventually, here, ink, openAt, overflow, scrollThrough, type View } from "./browser.ts";
import { SIX, filled, sample, steady, type Raw } from "./samples.ts";
import { begun, list } from "./samples_runs.ts";

const served = { home: "/", events: "/events" };

/** The run after so many trials; the same run each time. */
function after(ended: number, seconds: number): Raw {
  const whole = sample({ seed: 12, runtimes: SIX, app: "hello", loads: [steady("steady", 300, 40)], model: "open", rounds: 3 });
  return ended === 18 ? { ...whole, served } : { ...begun(whole, ended, seconds, "under_way"), served };
}

/** What `now` brings of it. */
function now(ended: number, seconds: number): Raw {
  const { progress, series } = after(ended, seconds);
  return { format: 1, progress, series: series.find((one: Raw) => one.unfinished) ?? null };
}

class Host {
  private readonly streams = new Set<ServerResponse>();
  /** Sends no events to anybody any more. */
  refuses = false;
  /** Whoever asks for events loses the connection again, and tries once more. */
  isAway = false;

  private constructor(private readonly server: Server) {}

  /** Serves one page, and the events that it is told to send. */
  static async start(data: Raw): Promise<Host> {
    const form = readFileSync(here("../dist/index.html"), "utf8");
    const html = filled(form.replace("default-src 'none';", "default-src 'none'; connect-src 'self';"), data);
    const server = createServer();
    const host = new Host(server);
    server.on("request", (request, response) => {
      if (request.url === served.events && host.isAway) {
        request.socket.destroy();
      } else if (request.url === served.events && !host.refuses) {
        response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
        response.write("retry: 100\n\n");
        host.streams.add(response);
      } else if (request.url?.startsWith("/page")) {
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html);
      } else {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return host;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/page`;
  }

  send(event: string, data: unknown): void {
    for (const stream of this.streams) stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  async connected(): Promise<void> {
    for (let tries = 0; this.streams.size === 0; tries += 1) {
      assert.ok(tries < 200, "nobody listens to the events");
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  /** Those who listen try again. */
  cut(): void {
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
  }

  stop(): void {
    this.cut();
    this.server.close();
    this.server.closeAllConnections();
  }
}

export async function live(browser: Browser, directory: string): Promise<void> {
  await fills(browser, directory);
  await begins(browser);
  await isLost(browser);
  await listFills(browser);
  for (const scheme of ["light", "dark"] as const) {
    for (const width of [360, 900, 1600]) await looks(browser, directory, { width, scheme });
  }
}

async function open(browser: Browser, data: Raw, view: View): Promise<{ page: Page; faults: string[]; host: Host }> {
  const host = await Host.start(data);
  const allowed = [new URL(served.events, host.address).href, new URL("/favicon.ico", host.address).href];
  const opened = await openAt(browser, host.address, { ...view, allowed });
  await host.connected();
  return { ...opened, host };
}

/** A run under way grows, a trial ends, the run ends; the reader stays where he is. */
async function fills(browser: Browser, directory: string): Promise<void> {
  const { page, faults, host } = await open(browser, after(8, 5), { width: 1200 });
  assert.equal(await page.getByRole("link", { name: "All runs" }).getAttribute("href"), served.home);
  await page.locator("#charts").scrollIntoViewIfNeeded();
  await page.locator(".chart .uplot").first().waitFor();
  const label = () => page.locator(".chart canvas").first().getAttribute("aria-label");
  assert.match((await label()) ?? "", /apache-modphp \(running\)/);
  await grows(page, host);
  await chooses(page);
  const before = await placeOf(page);
  await page.screenshot({ path: join(directory, "live-before.png") });
  host.send("page", after(9, 2));
  await page.locator(".live-line strong", { hasText: "Trial 10 of 18" }).waitFor();
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(directory, "live-after.png") });
  const then = await placeOf(page);
  // The browser scrolls by whole pixels.
  assert.ok(Math.abs(then.plan - before.plan) <= 2, `the page moved by ${then.plan - before.plan} pixels`);
  assert.deepEqual({ ...then, plan: before.plan }, before, "the reader's place is lost");
  assert.equal(await page.locator("#verdicts tbody tr").count(), 9, "the trial that ended is not there");
  await followsAfterwards(page, host);
  host.send("page", after(18, 0));
  host.send("over", {});
  await page.getByText("The run is over").waitFor();
  assert.equal(await page.getByRole("progressbar").count(), 0, "a run that ended is still under way");
  assert.equal(await page.locator("h1 .badge").count(), 0);
  assert.deepEqual(faults, []);
  host.stop();
  await page.waitForTimeout(300);
  assert.deepEqual(faults, [], "it asks for more when nothing more will come");
  await page.close();
}

/** Each second, and told to a screen reader only once. */
async function grows(page: Page, host: Host): Promise<void> {
  await page.evaluate(() => {
    const told = document.querySelector(".strip [aria-live]");
    const own = window as unknown as { told: number };
    own.told = 0;
    if (told) new MutationObserver(() => { own.told += 1; }).observe(told, { childList: true, characterData: true, subtree: true });
  });
  const plot = await page.locator(".chart .uplot").first().elementHandle();
  await page.locator(".behind summary").first().click();
  await page.locator(".behind tbody tr").first().waitFor();
  const cases = () => page.locator(".behind tbody").first().locator("tr").nth(7).locator("td").allInnerTexts();
  const early = await cases();
  const before = await ink(page);
  for (const seconds of [6, 7, 20]) {
    host.send("now", now(8, seconds));
    await page.locator(".live-line .seconds", { hasText: new RegExp(`^${seconds}\\s`) }).waitFor();
  }
  await eventually(async () => (await ink(page)) !== before, "the line does not grow");
  await eventually(async () => (await cases()).join() !== early.join(), "the open table does not grow");
  assert.ok(await plot?.evaluate((one) => one.isConnected), "the chart is made anew each second");
  assert.equal(await page.evaluate(() => (window as unknown as { told: number }).told), 0, "each second is read out");
  await page.locator(".behind summary").first().click();
}

/** All that a reader may have chosen. */
async function chooses(page: Page): Promise<void> {
  await page.getByRole("button", { name: "nginx-fpm", exact: true }).click();
  await page.locator(".chart select").first().selectOption("p99");
  await page.locator(".chart .toggle input").first().check();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Later" }).click();
  await page.locator(".spread").evaluate((one) => one.closest("figure")?.querySelector("select")?.focus());
  await page.locator("figure", { hasText: "Distribution over trials" }).locator("select").selectOption("memory");
  await page.locator("#figures-0 table").first().getByRole("button", { name: "p95" }).click();
  await page.locator("#figures-0 table").first().getByRole("button", { name: "p95" }).click();
  await page.getByText("only what differs").click();
  const details = page.locator("#configuration details").nth(2);
  await details.locator("summary").click();
  await details.locator("pre").first().waitFor();
  await page.locator("#plan details summary").click();
  await page.locator("#plan details").scrollIntoViewIfNeeded();
  await page.locator("#plan summary").focus();
  await page.waitForTimeout(300);
}

async function placeOf(page: Page) {
  return page.evaluate(() => {
    return {
      plan: Math.round(document.querySelector("#plan")?.getBoundingClientRect().top ?? NaN),
      off: [...document.querySelectorAll(".line-switch[aria-pressed=false]")].map((one) => one.textContent),
      isZoomed: ![...document.querySelectorAll("button")].find((one) => one.textContent === "Reset")?.disabled,
      choices: [...document.querySelectorAll<HTMLSelectElement>(".controls select, .toolbar select")].map((one) => one.value),
      toggles: [...document.querySelectorAll<HTMLInputElement>(".toggle input")].map((one) => one.checked),
      open: [...document.querySelectorAll("details[open] > summary")].map((one) => one.textContent),
      isBuilt: document.querySelector("#plan details pre") !== null,
      sort: [...document.querySelectorAll("th[aria-sort]")].map((one) => `${one.textContent} ${one.getAttribute("aria-sort")}`),
      focus: document.activeElement?.textContent,
    };
  });
}

/** What was made anew is live, and what was thrown away does nothing. */
async function followsAfterwards(page: Page, host: Host): Promise<void> {
  await page.evaluate(() => document.getElementById("charts")?.scrollIntoView());
  await page.locator(".chart .uplot").first().waitFor();
  assert.equal(await page.locator(".chart .plot").first().locator(".uplot").count(), 1);
  assert.match((await page.locator(".chart canvas").first().getAttribute("aria-label")) ?? "", /nginx-fcgi \(running\)/);
  await page.getByRole("button", { name: "Reset" }).click();
  await page.waitForTimeout(200);
  const before = await ink(page);
  host.send("now", now(9, 30));
  await page.locator(".live-line .seconds", { hasText: "30" }).waitFor();
  await eventually(async () => (await ink(page)) !== before, "a line does not grow after a trial ended");
  await page.getByRole("button", { name: "All lines on" }).click();
  assert.equal(await page.locator(".line-switch[aria-pressed=false]").count(), 0);
  await page.locator(".u-over").first().hover({ position: { x: 200, y: 60 } });
  await eventually(async () => (await page.locator(".tip:visible").count()) === 1, "no values at the cursor");
  // A page that comes while a range is being dragged waits until it is let go.
  const box = await page.locator(".u-over").first().boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 100, box.y + 50);
  await page.mouse.down();
  host.send("page", after(10, 1));
  await page.mouse.move(box.x + 300, box.y + 50, { steps: 4 });
  await page.waitForTimeout(100);
  assert.match(await page.locator(".live-line strong").innerText(), /Trial 10/);
  await page.mouse.up();
  await page.locator(".live-line strong", { hasText: "Trial 11 of 18" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Reset" }).isDisabled(), false, "the drag was lost");
}

/** The first trial of all: there is no chart yet, then there is. */
async function begins(browser: Browser): Promise<void> {
  const { page, faults, host } = await open(browser, after(0, 0), { width: 1200 });
  assert.match(await page.locator(".live-line").innerText(), /Trial 1 of 18.*starts, verifies and warms up/s);
  assert.match(await page.locator(".sentence").innerText(), /Nothing can be said yet/);
  await page.evaluate(() => document.getElementById("charts")?.scrollIntoView());
  await page.getByText("Still to come: no trial").waitFor();
  host.send("now", now(0, 1));
  await page.locator(".chart .uplot").first().waitFor();
  host.send("now", now(0, 4));
  await page.locator(".live-line .seconds", { hasText: "4" }).waitFor();
  assert.match((await page.locator(".chart canvas").first().getAttribute("aria-label")) ?? "", /php-builtin \(running\)/);
  assert.deepEqual(faults, []);
  host.stop();
  await page.close();
}

/** A connection that breaks comes back by itself; a server that ended is missed, quietly. */
async function isLost(browser: Browser): Promise<void> {
  const { page, faults, host } = await open(browser, after(3, 4), { width: 900 });
  assert.deepEqual(faults, []);
  host.isAway = true;
  host.cut();
  await page.getByText("there is no connection to stampede serve").waitFor();
  host.isAway = false;
  await host.connected();
  await page.getByText("there is no connection to stampede serve").waitFor({ state: "hidden" });
  host.send("now", now(3, 5));
  await page.locator(".live-line .seconds", { hasText: "5" }).waitFor();
  host.refuses = true;
  host.cut();
  await page.getByText("sends nothing more to this page").waitFor();
  host.stop();
  assert.equal(await page.getByRole("progressbar").getAttribute("aria-valuenow"), "3", "what was there is gone");
  // Of these the browser itself tells, in its console.
  assert.ok(faults.every((fault) => /ERR_|net::|status of 404|EventSource/.test(fault)), faults.join("; "));
  await page.close();
  const ended = await open(browser, after(3, 4), { width: 900 });
  ended.host.stop();
  await ended.page.getByText("there is no connection to stampede serve").waitFor();
  await ended.page.close();
}

/** The list gets newer; what is chosen, open and focused stays. */
async function listFills(browser: Browser): Promise<void> {
  const first = { ...list(), served: { ...served, over: "/over?" } };
  const { page, faults, host } = await open(browser, first, { width: 1200 });
  await page.getByRole("checkbox").nth(1).check();
  await page.getByRole("checkbox").nth(2).check();
  await page.locator("summary").click();
  await page.getByRole("checkbox").nth(2).focus();
  const focus = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  const before = await focus();
  const next = structuredClone(first) as Raw;
  next.history[0].trials_ended = 8;
  next.history.unshift({ ...next.history[1], name: "20261123-100000-ffff", page: "/run?run=20261123-100000-ffff" });
  host.send("history", next);
  await page.getByText("8 of 18").first().waitFor();
  assert.equal(await page.locator(".history tbody tr").count(), 7);
  assert.equal(await focus(), before, "the focus is lost");
  assert.equal(await page.locator("details[open]").count(), 1, "what was open is closed");
  assert.equal(await page.locator(".over a").getAttribute("href"), "/over?run=20261123-081500-77aa&run=20261122-230104-51b2");
  host.send("history", { ...next, history: [] });
  await page.getByText("There is no run yet").waitFor();
  assert.deepEqual(faults, []);
  host.stop();
  await page.close();
}

async function looks(browser: Browser, directory: string, view: View): Promise<void> {
  const { page, faults, host } = await open(browser, after(7, 14), view);
  host.send("now", now(7, 15));
  await page.locator(".live-line .seconds", { hasText: "15" }).waitFor();
  await page.screenshot({ path: join(directory, `live-${view.scheme}-${view.width}.png`) });
  await scrollThrough(page);
  faults.push(...(await overflow(page)));
  if (view.width !== 900) faults.push(...(await axe(page)));
  assert.deepEqual(faults, [], `live, ${view.scheme}, ${view.width}`);
  host.stop();
  await page.close();
}

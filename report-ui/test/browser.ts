// What all end-to-end tests share: opening a page in Chromium, and what must hold of every page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";

export const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const AXE = readFileSync(here("../node_modules/axe-core/axe.min.js"), "utf8");

export interface Opened {
  page: Page;
  /** Errors and warnings of the console, and requests for anything but the page. */
  faults: string[];
}

export interface View {
  width: number;
  scheme?: "light" | "dark";
  hasTouch?: boolean;
  /** Paths of the page's own server that it may ask for. */
  allowed?: string[];
}

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
}

export async function openAt(browser: Browser, address: string, view: View): Promise<Opened> {
  const page = await browser.newPage({
    viewport: { width: view.width, height: 900 }, colorScheme: view.scheme ?? "light",
    reducedMotion: "reduce", hasTouch: view.hasTouch ?? false,
  });
  const faults: string[] = [];
  const allowed = (view.allowed ?? []).map((path) => new URL(path, address).href);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith("blob:") && !allowed.includes(url)) faults.push(`asked for ${url}`);
  });
  await page.goto(address);
  return { page, faults };
}

/** Scrolls through, so that every chart is drawn. */
export async function scrollThrough(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let y = 0; y < document.documentElement.scrollHeight; y += 600) {
      scrollTo(0, y);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
    scrollTo(0, 0);
  });
}

interface Axe {
  run: (options: unknown) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
}

export async function axe(page: Page): Promise<string[]> {
  // What is far away is not laid out, and then has no contrast to check.
  await page.evaluate(() => document.querySelectorAll<HTMLElement>(".block").forEach((block) => {
    block.style.setProperty("content-visibility", "visible");
  }));
  // Through the protocol, not as a script element: the page's policy would refuse that.
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: Axe }).axe.run({ resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`).join(" | ")}`);
  });
}

/** The page is never wider than the screen. */
export async function overflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    return wide > 0 ? [`${wide} pixels wider than the screen`] : [];
  });
}

/** What a page does after a click or a key it may do a frame later, or many on a busy machine. */
export async function eventually(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await isSo())) {
    if (Date.now() > end) assert.fail(otherwise);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Something that changes when another line is drawn. */
export async function ink(page: Page): Promise<string> {
  return (await page.locator(".chart .plot").first().screenshot()).toString("base64");
}

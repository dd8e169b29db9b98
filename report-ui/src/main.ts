// The page: reads the data inside it and builds everything from it.

import "uplot/dist/uPlot.min.css";
import "./base.css";
import "./answer.css";
import "./charts.css";
import "./evidence.css";
import "./print.css";

import { acrossLoads } from "./across.ts";
import { h, withCode } from "./dom.ts";
import { evidence } from "./evidence.ts";
import * as format from "./format.ts";
import { legend } from "./legend.ts";
import { Panel } from "./panel.ts";
import { answer } from "./ranking.ts";
import { readPage } from "./read.ts";
import { Store } from "./store.ts";
import { followTheme, themeButton } from "./theme.ts";
import { groupTitle } from "./words.ts";

function start(): void {
  const raw = document.getElementById("data")?.textContent ?? "";
  const { page, problems } = readPage(raw);
  const store = new Store(page);
  followTheme(store);
  const { groups } = page.summary;
  const apps = [...new Set(groups.map((group) => group.app))].filter(Boolean);
  document.title = [apps.join(", "), "stampede report"].filter(Boolean).join(" – ");
  const hasCells = page.summary.cells.length > 0;
  const main = h("main", {},
    ...problems.map((problem) => h("p", { class: "problem", role: "note" }, problem)),
    h("div", { id: "answers" }, ...groups.map((group, place) => answer(store, group, place))),
    notices(page.summary.notices),
    hasCells ? charts(store) : null,
    evidence(store, raw));
  document.getElementById("page")?.append(header(store, hasCells), main, footer(store));
}

function header(store: Store, hasCells: boolean): HTMLElement {
  const { run, started_at: at, rounds } = store.page.summary;
  const about = [
    at ? format.date(at) : "",
    rounds > 0 ? format.numberOf(rounds, "round") : "",
  ].filter(Boolean);
  const links: [string, string][] = [];
  if (store.page.summary.groups.length > 0) links.push(["#answers", "Answer"]);
  if (hasCells) links.push(["#charts", "Charts"]);
  if (hasCells && acrossIsThere(store)) links.push(["#across", "Across loads"]);
  links.push(["#evidence", "Evidence"]);
  return h("header", {},
    h("h1", {}, "stampede", h("span", {}, run ? ` run ${run}` : " report")),
    h("p", {}, about.join(" · ")),
    h("nav", { "aria-label": "Parts of the report" }, ...links.map(([href, words]) => h("a", { href }, words))),
    themeButton(store));
}

function acrossIsThere(store: Store): boolean {
  const apps = store.page.summary.groups.map((group) => `${group.app}\n${group.model}`);
  return new Set(apps).size < apps.length;
}

function notices(all: string[]): HTMLElement | null {
  if (all.length === 0) return null;
  return h("aside", { class: "notices", "aria-label": "Decided for all runtimes" },
    h("ul", {}, ...all.map((notice) => h("li", {}, ...withCode(notice)))));
}

function charts(store: Store): HTMLElement {
  const { groups } = store.page.summary;
  const panels = groups.map((group, place) => new Panel(store, group, place));
  const jumps = panels.length < 2 ? null : h("nav", { class: "jumps", "aria-label": "Charts of each load" },
    ...panels.map((panel) => h("a", { href: `#charts-${panel.key}` }, groupTitle(panel.group))));
  return h("section", { id: "charts", "aria-labelledby": "charts-title" },
    h("h2", { id: "charts-title" }, "Charts"), jumps, legend(store),
    ...panels.map((panel) => panel.element()),
    acrossLoads(store));
}

function footer(store: Store): HTMLElement {
  const { stampede, summary } = store.page;
  const parts = [
    summary.stampede ? `measured by stampede ${summary.stampede}` : "",
    stampede ? `page written by stampede ${stampede}` : "",
    summary.seed ? `seed ${summary.seed}` : "",
  ];
  return h("footer", {}, h("p", {}, parts.filter(Boolean).join(" · ")));
}

start();

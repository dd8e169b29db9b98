// A report: built from its data, and built again from newer data while the reader's place is kept.

import { acrossLoads } from "./across.ts";
import type { Run, RunState } from "./data.generated.ts";
import { runOf, type Page, type Series } from "./data.ts";
import { h, withCode } from "./dom.ts";
import { watchPointer, whenLetGo } from "./events.ts";
import { evidence } from "./evidence.ts";
import * as format from "./format.ts";
import { Kept } from "./kept.ts";
import { legend } from "./legend.ts";
import { lookOfRun, swatch } from "./look.ts";
import { Panel } from "./panel.ts";
import { placeOf, reopen, resume } from "./place.ts";
import { answer, headlineOf } from "./ranking.ts";
import { published } from "./published.ts";
import { readData, readNow, type Read } from "./read.ts";
import { Store } from "./store.ts";
import { Strip } from "./strip.ts";
import { onTheme, themeButton } from "./theme.ts";
import { versions } from "./versions.ts";
import { groupTitle, stateBadge } from "./words.ts";

export class Report {
  readonly strip = new Strip("How far the run is");
  private readonly kept = new Kept();
  private store: Store;
  private parts: HTMLElement[];

  constructor(private readonly root: HTMLElement, raw: string, read: Read) {
    this.store = this.open(read.page);
    this.parts = build(this.store, raw, read.problems);
    const [header, ...rest] = this.parts;
    if (header) root.append(header, this.strip.element, ...rest);
    this.say();
    if (read.page.served) watchPointer();
  }

  private open(page: Page): Store {
    const store = new Store(page, this.kept);
    onTheme(() => store.tell("theme"), store.signal);
    return store;
  }

  /** Rebuilds the page from newer data. The reader's place stays. */
  show(raw: string): void {
    const data = readData(raw);
    // If the new data cannot be read, the page keeps the old data.
    if (data.kind !== "report" || data.page.summary.cases.length === 0) return;
    whenLetGo(() => this.replace(raw, data));
  }

  private replace(raw: string, { page, problems }: Read): void {
    const place = placeOf(this.root);
    this.store.close();
    this.store = this.open(page);
    const next = build(this.store, raw, problems);
    this.parts.forEach((part, at) => part.replaceWith(next[at] ?? ""));
    this.parts = next;
    this.say();
    reopen(this.root, place);
    this.store.tell("there");
    resume(this.root, place);
  }

  /** Called when the running trial has new data. */
  now(raw: string): void {
    const { page } = this.store;
    const { progress, series } = readNow(raw);
    if (!page.progress && !progress) return;
    page.progress = progress;
    // The unfinished trial of a run that was cut off stays.
    page.series = page.series.filter((one) => !one.unfinished || stateOf(page, one) !== "under_way");
    if (series) page.series.push(series);
    this.say();
    this.store.tell("now");
  }

  private say(): void {
    const { page } = this.store;
    this.strip.show(page);
    document.title = title(page);
  }
}

function stateOf(page: Page, series: Series): RunState | undefined {
  return page.runs[runOf(page, page.summary.cases[series.case]?.runtime ?? "")]?.state;
}

function title({ progress, runs, summary }: Page): string {
  const apps = [...new Set(summary.groups.map((group) => group.app))].filter(Boolean).join(", ");
  const far = progress ? `${progress.ended}/${progress.planned}` : "";
  const kind = runs.length > 1 ? `${runs.length} stampede runs` : "stampede report";
  return [far, apps, kind].filter(Boolean).join(" – ");
}

/** The header, the main part and the footer. */
function build(store: Store, raw: string, problems: string[]): HTMLElement[] {
  const { groups, cases, notices: said } = store.page.summary;
  const hasCases = cases.length > 0;
  const main = h("main", {},
    store.isOverlay ? runs(store) : null,
    ...problems.map((problem) => h("p", { class: "problem", role: "note" }, problem)),
    h("div", { id: "answers" }, ...store.page.headlines.map(headlineOf), ...groups.map((group, place) => answer(store, group, place))),
    versions(store),
    notices(said),
    published(store),
    hasCases ? charts(store) : null,
    evidence(store, raw));
  return [header(store, hasCases), main, footer(store)];
}

function header(store: Store, hasCases: boolean): HTMLElement {
  const { runs, served } = store.page;
  const links: [string, string][] = [];
  if (served?.home) links.push([served.home, "All runs"]);
  if (store.page.summary.groups.length > 0) links.push(["#answers", "Answer"]);
  if (store.page.versions) links.push(["#versions", "Versions"]);
  if (store.page.summary.published) links.push(["#published", "Published"]);
  if (hasCases) links.push(["#charts", "Charts"]);
  if (hasCases && acrossIsThere(store)) links.push(["#across", "Across loads"]);
  links.push(["#evidence", "Evidence"]);
  const [first] = runs;
  return h("header", {},
    h("h1", {}, "stampede", ...(store.isOverlay ? [h("span", {}, ` runs ${format.listOf(runs.map((run) => run.label))}`)] : runName(first))),
    h("p", {}, store.isOverlay || !first ? "" : aboutRun(first).join(" · ")),
    h("div", { class: "tools" },
      h("nav", { "aria-label": "Parts of the report" }, ...links.map(([href, words]) =>
        h("a", { href, class: href.startsWith("#") ? null : "home" }, words))),
      themeButton(store.signal)));
}

function runName(run: Run | undefined): (Node | null)[] {
  return [h("span", {}, run?.run ? ` run ${run.run}` : " report"), run ? stateMark(run) : null];
}

/** Says in words that a run has not ended; `null` if it has. */
function stateMark({ state }: Run): HTMLElement | null {
  const badge = stateBadge(state);
  return state === "ended" ? null : h("span", { class: `badge ${badge.tone}` }, badge.words);
}

function aboutRun({ started_at: at, rounds }: Run): string[] {
  return [at ? format.date(at) : "", rounds > 0 ? format.numberOf(rounds, "round") : ""].filter(Boolean);
}

/** Tells which letter stands for which run. */
function runs(store: Store): HTMLElement {
  const rows = store.page.runs.map((run, place) => {
    const badge = stateBadge(run.state);
    return h("li", {},
      swatch(lookOfRun(place)) as unknown as Node,
      h("strong", {}, run.label),
      h("span", { class: "run-id" }, run.run || "without a name"),
      h("span", { class: `badge ${badge.tone}` }, badge.words),
      h("span", {}, aboutRun(run).join(" · ")));
  });
  return h("section", { class: "runs", id: "runs", "aria-labelledby": "runs-title" },
    h("h2", { id: "runs-title", class: "kicker" }, `${store.page.runs.length} runs combined`,
      h("span", { class: "about" }, "A colour is a runtime; dash and marker are its run.")),
    h("ul", {}, ...rows));
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
  const { stampede, runs } = store.page;
  const versions = [...new Set(runs.map((run) => run.stampede))].filter(Boolean);
  const parts = [
    versions.length > 0 ? `measured by stampede ${format.listOf(versions)}` : "",
    stampede ? `page written by stampede ${stampede}` : "",
    runs.length === 1 && runs[0]?.seed ? `seed ${runs[0].seed}` : "",
  ];
  return h("footer", {}, h("p", {}, parts.filter(Boolean).join(" · ")));
}

// The answer: a group's sentence and its ranking.

import type { Headline } from "./data.generated.ts";
import { headline, intervalOf, ownName, runOf, valueOf, type Case, type Comparison, type Group } from "./data.ts";
import { h, scroller, withCode } from "./dom.ts";
import { dotRow, type Scale } from "./dots.ts";
import * as format from "./format.ts";
import { swatch } from "./look.ts";
import { extent } from "./scale.ts";
import type { Store } from "./store.ts";
import * as words from "./words.ts";

/** The cases of a group: best first, those without a figure last. Several runs are not ranked: each
 * runtime's cases stand together, in the plan's order. */
export function casesOf(store: Store, group: Group): Case[] {
  const cases = store.page.summary.cases.filter(
    (entry) => entry.app === group.app && entry.load === group.load,
  );
  if (store.isOverlay) {
    const place = (entry: Case) => store.runtimes.indexOf(ownName(store.page, entry.runtime));
    return cases.sort((a, b) => place(a) - place(b) || runOf(store.page, a.runtime) - runOf(store.page, b.runtime));
  }
  return [...cases.filter((entry) => entry.trials_counted > 0), ...cases.filter((entry) => entry.trials_counted <= 0)];
}

export function answer(store: Store, group: Group, place: number): HTMLElement {
  const cases = casesOf(store, group).filter((entry) => !entry.is_noise);
  const id = `answer-${place}`;
  const about = [group.load_text, words.modelWords(group), words.budgetWords(cases)];
  return h("section", { class: "answer", id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title`, class: "kicker" }, words.groupTitle(group),
      h("span", { class: "about" }, about.filter(Boolean).join(" · "))),
    sentence(store, group),
    cases.length > 0 ? table(store, group, cases) : h("p", { class: "missing" }, "No runtime was measured here."),
    key(store, group, cases));
}

/** The group's sentence; `null` if the app has a headline, which says the same. */
function sentence(store: Store, group: Group): HTMLElement | null {
  if (store.page.headlines.some((one) => one.app === group.app)) return null;
  return h("p", { class: store.isOverlay ? "sentence several" : "sentence" }, format.tied(group.sentence) || nothingSaid(store));
}

/** The results for an app in sentences, and what is true of all rows. */
export function headlineOf(one: Headline): HTMLElement {
  const lines = one.text.split("\n").filter(Boolean).map((line) => h("p", { class: "sentence" }, ...withCode(line)));
  return h("section", { class: "headline", "aria-label": `Answer for ${one.app}` },
    h("h2", { class: "kicker" }, one.app), ...lines,
    one.facts.length > 0 ? h("ul", { class: "facts" }, ...one.facts.map((fact) => h("li", {}, ...withCode(fact)))) : null);
}

function nothingSaid(store: Store): string {
  return store.page.progress
    ? "Nothing can be said yet: no runtime has figures here."
    : "Nothing can be said: no runtime has figures here.";
}

const heads = (store: Store, group: Group): [string, string][] => [
  ...(hasGroups(store, group) ? [["rank", "group"] as [string, string]] : []),
  ["name", "runtime"],
  ["primary", words.primaryWords(group)],
  ["sketch", ""],
  ...(store.isOverlay ? [] : [["against", group.baseline ? `vs ${cut(group.baseline)}` : "compared"] as [string, string]]),
  // If throughput is the ranked figure, this column shows the time instead.
  group.primary === "throughput" ? ["throughput", `p95 of ${words.headlineWords(group.model)}`] : ["throughput", "throughput"],
  ["cost", "CPU/request"],
  ["memory", "max memory"],
  ["ok", "ok %"],
  ["trials", "trials"],
];

/** Shortens a name, which may be of any length, for the head of a narrow column. */
function cut(name: string): string {
  return name.length > LONGEST_HEAD ? `${name.slice(0, LONGEST_HEAD - 1)}…` : name;
}

const LONGEST_HEAD = 22;

/** Whether all pairs were compared. */
function hasGroups(store: Store, group: Group): boolean {
  return !store.isOverlay && casesOf(store, group).some((entry) => entry.significance_groups !== "");
}

// Roles are explicit, because on a phone the style sheet turns rows into cards.
function table(store: Store, group: Group, cases: Case[]): HTMLElement {
  const columns = heads(store, group);
  const what = store.isOverlay ? "Figures" : "Ranking";
  const values = cases.flatMap((entry) => valueOf(words.primaryFigure(group, entry.figures)) ?? []);
  const scale = extent(values, cases.map((entry) => intervalOf(words.primaryFigure(group, entry.figures))));
  const body = cases.flatMap((entry) => [
    entry.trials_counted > 0
      ? row(store, group, entry, scale, columns)
      : emptyRow(store, entry, columns),
    ...remarkRow(group, entry, columns),
  ]);
  const made = h("table", { class: store.isOverlay ? "ranking several" : "ranking", role: "table" },
    h("caption", { class: "hidden" }, store.isOverlay
      ? `Figures of ${words.groupTitle(group)}, each run's own`
      : `Ranking of ${words.groupTitle(group)} by ${words.primaryWords(group)}`),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...columns.map(([name, title]) => title
      ? h("th", { class: name, scope: "col", role: "columnheader" }, title)
      : h("td", { class: name, role: "cell" }, scale.isLog ? "log scale" : "")))),
    h("tbody", { role: "rowgroup" }, ...body));
  return scroller(`${what} of ${words.groupTitle(group)}`, made);
}

function row(
  store: Store, group: Group, entry: Case, scale: Scale, columns: [string, string][],
): HTMLElement {
  const look = store.look(entry.runtime);
  const other = group.comparisons.find((one) => one.runtime === entry.runtime);
  const figure = words.primaryFigure(group, entry.figures);
  const { figures } = entry;
  const plain: Record<string, string> = {
    throughput: group.primary === "throughput"
      ? format.figure(figures[headline(group.model)].p95, format.time)
      : perSecond(format.figure(figures.throughput_per_second, format.rate)),
    cost: format.figure(figures.cpu_cost_us, format.micros),
    memory: format.figure(figures.memory_bytes_max, format.bytes),
    ok: format.figure(figures.ok_share, format.share),
    trials: trialsWords(entry),
  };
  const made: Record<string, Node> = {
    rank: h("span", {}, entry.significance_groups || format.NONE),
    name: nameOf(store, entry, "full"),
    primary: withInterval(format.figure(figure, words.primaryNumber(group)), intervalOf(figure), words.primaryNumber(group)),
    sketch: dotRow(scale, look, valueOf(figure), intervalOf(figure), []) as unknown as Node,
    against: against(group, entry, other),
  };
  const fields = columns.map(([name, title]) => field(name, title, made[name] ?? h("span", {}, plain[name] ?? "")));
  const classes = [isBaseline(group, entry) ? "baseline" : "", entry.counts.ok < entry.counts.planned ? "lossy" : ""];
  return h("tr", { role: "row", class: classes.join(" ").trim() || null }, ...fields);
}

function perSecond(rate: string): string {
  return rate === format.NONE ? rate : `${rate}${format.THIN}/s`;
}

function field(name: string, title: string, content: Node): HTMLElement {
  if (name === "name") return h("th", { class: name, scope: "row", role: "rowheader" }, content);
  return h("td", { class: name, role: "cell", "data-title": title || null }, content);
}

/** A runtime's name with its marks. */
export function nameOf(store: Store, entry: Case, kind: "full" | "short"): HTMLElement {
  const title = entry.title && entry.title !== entry.runtime ? entry.title : "";
  return h("span", { class: "who" }, swatch(store.look(entry.runtime)) as unknown as Node,
    h("span", { class: "who-text" },
      h("span", { class: "who-name" }, entry.runtime),
      ...badgesOf(store, entry).map((badge) => h("span", { class: `badge ${badge.tone}` }, badge.words)),
      kind === "full" && title ? h("small", {}, title) : null));
}

function badgesOf(store: Store, entry: Case): words.Badge[] {
  const isUnderWay = store.page.progress?.under_way?.case === entry.index;
  return words.badges(entry, store.run(entry.runtime)?.state ?? "ended", isUnderWay);
}

function withInterval(
  value: string, interval: [number, number] | null, number: (value: number) => string,
): HTMLElement {
  return h("span", { class: "estimate" },
    h("strong", { class: value === "failed" ? "bad" : null }, value),
    interval ? h("small", {}, format.interval(interval, number)) : null);
}

/** Whether the case is the row that the others are compared with. */
function isBaseline(group: Group, entry: Case): boolean {
  return group.baseline === entry.runtime && group.comparisons.length > 0;
}

function against(group: Group, entry: Case, other: Comparison | undefined): HTMLElement {
  if (isBaseline(group, entry)) return h("span", { class: "verdict faint" }, "baseline");
  if (group.baseline === entry.runtime) return h("span", { class: "verdict faint" }, "nothing beside it");
  if (!other) return h("span", { class: "verdict faint" }, "not compared");
  const judged = words.judgement(group, other);
  const interval = other.ratio?.interval ?? null;
  return h("span", { class: "estimate" },
    h("span", {},
      other.ratio ? h("strong", {}, format.ratio(other.ratio.value)) : null,
      interval ? h("small", { class: "beside" }, format.interval(interval, format.significant)) : null),
    h("span", { class: `verdict ${judged.tone}` }, judged.words));
}

function trialsWords(entry: Case): string {
  const planned = entry.trials_counted + entry.trials_invalid + entry.trials_missing;
  return planned > entry.trials_counted ? `${entry.trials_counted} of ${planned}` : String(entry.trials_counted);
}

function emptyRow(store: Store, entry: Case, columns: [string, string][]): HTMLElement {
  const isComing = store.run(entry.runtime)?.state === "under_way" && entry.verdict === "missing";
  const hasRank = columns[0]?.[0] === "rank";
  return h("tr", { role: "row", class: isComing ? "empty coming" : "empty" },
    hasRank ? h("td", { class: "rank", role: "cell" }, format.NONE) : null,
    h("th", { class: "name", scope: "row", role: "rowheader" }, nameOf(store, entry, "full")),
    h("td", { class: "nothing", role: "cell", colspan: columns.length - (hasRank ? 2 : 1) },
      isComing ? "no figures yet: no trial of it has ended" : "no figures: no trial of it counts"));
}

/** A remark; its further lines show how two pages differ. */
function remarkOf(text: string): (string | HTMLElement)[] {
  const [first = "", ...lines] = text.split("\n");
  if (lines.length === 0) return [format.tied(text)];
  const kind = (line: string) => (line.startsWith("- ") ? "theirs" : line.startsWith("+ ") ? "own" : "");
  const differing = lines.map((line) => h("span", { class: kind(line) }, line));
  return [format.tied(first), h("span", { class: "differing" }, ...differing)];
}

function remarkRow(group: Group, entry: Case, columns: [string, string][]): HTMLElement[] {
  const remarks = words.remarks(group, entry);
  if (remarks.length === 0) return [];
  const hasRank = columns[0]?.[0] === "rank";
  const list = h("ul", {}, ...remarks.map((text) => h("li", {}, ...remarkOf(text))));
  return [h("tr", { role: "row", class: "remarks" },
    hasRank ? h("td", { role: "cell", class: "rank" }) : null,
    h("td", { role: "cell", colspan: columns.length - (hasRank ? 1 : 0) }, list))];
}

/** Explains the signs that occur. */
function key(store: Store, group: Group, cases: Case[]): HTMLElement {
  const texts = ["Intervals are 95 % intervals over rounds; times and ratios are geometric means."];
  if (store.isOverlay) texts.unshift("Runs are not compared with each other: machine, settings or the hour may differ.");
  if (cases.some((entry) => entry.trials_counted > 0 && entry.trials_counted < 3)) {
    texts.push("With fewer than three trials there is no interval.");
  }
  if (cases.some((entry) => entry.significance_groups)) {
    texts.push("Rows whose groups have no letter in common differ (all pairs compared, Tukey's test).");
  }
  if (group.comparisons.some((one) => one.relation === "inconclusive")) {
    texts.push("Too close to call: more rounds may settle it.");
  }
  if (group.comparisons.some((one) => one.relation === "too_few_rounds")) {
    texts.push("First impression: fewer than three rounds.");
  }
  return h("p", { class: "key" }, texts.join(" "));
}

// The evidence about each runtime: differences, configuration and isolation.

import { ownName, type RuntimeEvidence } from "./data.ts";
import { facts, type Fact } from "./differ.ts";
import { h, later, scroller, toggle } from "./dom.ts";
import * as format from "./format.ts";
import { named } from "./look.ts";
import type { Store } from "./store.ts";

export function runtimeEvidence(store: Store): HTMLElement[] {
  const runtimes = inOrder(store);
  if (runtimes.length === 0) return [h("p", { class: "missing" }, "No runtime has started.")];
  return [settings(store, runtimes), configurations(store, runtimes), isolation(store, runtimes)];
}

/** The runtimes in order; with several runs, the same runtime of all runs stands side by side. */
function inOrder(store: Store): RuntimeEvidence[] {
  const { evidence: { runtimes } } = store.page;
  if (!store.isOverlay) return runtimes;
  const place = (one: RuntimeEvidence) => store.runtimes.indexOf(ownName(store.page, one.name));
  return [...runtimes].sort((a, b) => place(a) - place(b) || a.run - b.run);
}

function settings(store: Store, runtimes: RuntimeEvidence[]): HTMLElement {
  const { page, isOverlay } = store;
  // With several runs, a runtime is compared with itself in other runs, not with its rivals.
  const all = facts(runtimes, (one) => (isOverlay ? ownName(page, one.name) : ""));
  const chosen = store.kept.choice("only what differs", runtimes.length > 1);
  const holder = h("div", {});
  const show = (onlyDifferent: boolean) => {
    chosen.value = onlyDifferent;
    const rows = onlyDifferent ? all.filter((fact) => fact.differs) : all;
    holder.replaceChildren(rows.length > 0
      ? table(store, runtimes, rows)
      : h("p", { class: "missing" }, "Nothing differs."));
  };
  show(chosen.value);
  const silent = runtimes.filter((one) => !one.observed).map((one) => one.name);
  return h("section", { class: "block", id: "settings" },
    h("div", { class: "head" }, h("h3", {}, "Versions and settings"),
      toggle("only what differs", chosen.value, show)),
    h("p", { class: "note" }, "As each runtime showed it before the load. Marked: what is not as ",
      isOverlay ? "the same runtime has it in the other runs." : "most have it.",
      silent.length > 0 ? ` It never answered, so nothing was observed: ${format.listOf(silent)}.` : ""),
    holder,
    ...allowed(store));
}

function table(store: Store, runtimes: RuntimeEvidence[], rows: Fact[]): HTMLElement {
  const head = h("tr", {}, h("th", { scope: "col" }, "setting"),
    ...runtimes.map((one) => h("th", { scope: "col" }, named(store.look(one.name), one.name))));
  return scroller("Versions and settings", h("table", { class: "figures settings" },
    h("caption", { class: "hidden" }, "Versions and settings, runtime by runtime"),
    h("thead", {}, head), h("tbody", {}, ...factRows(rows, runtimes.length))));
}

/** Rows of facts, with a heading for each topic. */
export function factRows(rows: Fact[], columns: number): HTMLElement[] {
  let topic = "";
  return rows.flatMap((fact) => {
    const made = factRow(fact);
    if (fact.topic === topic) return [made];
    topic = fact.topic;
    return [h("tr", { class: "topic" }, h("th", { scope: "rowgroup", colspan: columns + 1 }, h("span", {}, topic))), made];
  });
}

function factRow(fact: Fact): HTMLElement {
  return h("tr", { class: fact.differs ? "differs" : null },
    h("th", { scope: "row" }, fact.name),
    ...fact.values.map((value, place) => h("td", { class: fact.isOdd[place] ? "odd" : null },
      value === null ? format.NONE : value === "" ? "(empty)" : value)));
}

/** Differences that do not make cases incomparable. */
function allowed(store: Store): HTMLElement[] {
  const seen = new Set<string>();
  const items = store.page.summary.cases.flatMap((entry) => {
    const texts = [
      entry.asked.length > 0 ? `as the plan asks: ${entry.asked.join(", ")}` : "",
      entry.forced.length > 0 ? `its SAPI decides by itself: ${entry.forced.join(", ")}` : "",
      entry.kept.length > 0 ? `kept from request to request, as its mode means: ${entry.kept.join(", ")}` : "",
    ];
    // Most of these are the same for every load, so repeated ones are left out.
    const isNew = (text: string) => text !== "" && !seen.has(`${entry.runtime} ${text}`);
    const own = texts.filter(isNew);
    own.forEach((text) => seen.add(`${entry.runtime} ${text}`));
    const otherwise = entry.differs.filter((text) => isNew(text));
    otherwise.forEach((text) => seen.add(`${entry.runtime} ${text}`));
    return [
      ...own.map((text) => h("li", {}, h("b", {}, entry.runtime), ` ${text}`)),
      ...otherwise.length > 0 ? [h("li", {}, h("b", {}, entry.runtime), " takes some requests in another way than nginx with PHP-FPM:",
        h("ul", {}, ...otherwise.map((text) => h("li", {}, text))))] : [],
    ];
  });
  return items.length > 0 ? [h("p", { class: "note" }, "Differences that count against nobody:"), h("ul", { class: "plain" }, ...items)] : [];
}

function configurations(store: Store, runtimes: RuntimeEvidence[]): HTMLElement {
  return h("section", { class: "block", id: "configuration" },
    h("h3", {}, "Configuration as rendered"),
    ...runtimes.map((one) => {
      const files = one.files.length;
      const title = `${one.name}: ${format.numberOf(one.commands.length, "command")}, ${format.numberOf(files, "file")}`;
      const details = later(title, () => configuration(one), { class: "configuration" });
      details.dataset.runtime = store.look(one.name).colour;
      return details;
    }));
}

function configuration(one: RuntimeEvidence): Node {
  const notices = one.observed?.notices ?? [];
  return h("div", {},
    ...notices.map((notice) => h("p", { class: "note" }, notice)),
    one.commands.length > 0 ? h("h4", {}, "Started as") : null,
    one.commands.length > 0 ? text(`Commands of ${one.name}`, one.commands.join("\n")) : null,
    ...one.files.flatMap(([name, content]) => [h("h4", {}, name), text(`${name} of ${one.name}`, content)]));
}

/** Preformatted text in a box that scrolls separately. */
export function text(label: string, content: string): HTMLElement {
  return h("pre", { tabindex: 0, role: "region", "aria-label": label }, content);
}

function isolation(store: Store, runtimes: RuntimeEvidence[]): HTMLElement {
  const labels = [...new Set(runtimes.flatMap((one) => one.isolation.map(([label]) => label)))];
  const block = h("section", { class: "block", id: "isolation" }, h("h3", {}, "Isolation"));
  if (labels.length === 0) {
    block.append(h("p", { class: "missing" }, "Nothing is known of it."));
    return block;
  }
  const of = (one: RuntimeEvidence, label: string) =>
    one.isolation.filter(([own]) => own === label).map(([, value]) => value).join(", ") || format.NONE;
  block.append(scroller("Isolation", h("table", { class: "figures words" },
    h("caption", { class: "hidden" }, "How each runtime was kept apart"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "runtime"), ...labels.map((label) => h("th", { scope: "col" }, label)))),
    h("tbody", {}, ...runtimes.map((one) => h("tr", {},
      h("th", { scope: "row" }, named(store.look(one.name), one.name)),
      ...labels.map((label) => h("td", {}, of(one, label)))))))));
  return block;
}

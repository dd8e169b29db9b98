// The evidence: all data that the answer is based on.

import { agents } from "./agents.ts";
import { button, h } from "./dom.ts";
import { sections } from "./columns.ts";
import type { Download } from "./data.generated.ts";
import type { Case } from "./data.ts";
import { NONE } from "./format.ts";
import { casesOf, nameOf } from "./ranking.ts";
import { runtimeEvidence } from "./runtimes.ts";
import { runEvidence } from "./runs.ts";
import type { Store } from "./store.ts";
import { Tables, type Column } from "./tables.ts";
import { trialEvidence } from "./trials.ts";
import { groupTitle } from "./words.ts";

export function evidence(store: Store, raw: string): HTMLElement {
  return h("section", { id: "evidence", "aria-labelledby": "evidence-title" },
    h("h2", { id: "evidence-title" }, "Evidence"),
    ...basis(store),
    ...agents(store),
    ...figures(store),
    ...runtimeEvidence(store),
    ...runEvidence(store),
    ...trialEvidence(store),
    downloads(store, raw));
}

/** What was exhausted, whether the generator kept up, Little's law, the cost of an answer, the
 * pages. */
function basis(store: Store): HTMLElement[] {
  const { evidence, summary } = store.page;
  const of = new Map(evidence.cases.map((one) => [one.case, new Map(one.figures)]));
  return summary.groups.flatMap((group, place) => {
    const cases = casesOf(store, group).filter((entry) => (of.get(entry.index)?.size ?? 0) > 0);
    if (cases.length === 0) return [];
    const labels = [...new Set(cases.flatMap((entry) => [...(of.get(entry.index)?.keys() ?? [])]))];
    const columns = labels.map((label): Column<Case> => ({
      title: label,
      field: (entry) => {
        const text = of.get(entry.index)?.get(label);
        return { text: text ?? NONE, key: text ?? null };
      },
    }));
    const tables = new Tables(cases, {
      title: "runtime",
      key: (entry) => entry.runtime,
      node: (entry) => nameOf(store, entry, "short"),
    }, store.kept.choice(`basis of ${groupTitle(group)} sorted by`, null));
    return [h("section", { class: "block", id: `basis-${place}` },
      h("h3", {}, "What the figures rest on", h("span", { class: "about" }, groupTitle(group))),
      tables.section({ title: "limits, checks, cost and pages", columns }, groupTitle(group)))];
  });
}

function figures(store: Store): HTMLElement[] {
  return store.page.summary.groups.flatMap((group, place) => {
    const cases = casesOf(store, group).filter((entry) => entry.trials_counted > 0);
    if (cases.length === 0) return [];
    const tables = new Tables(cases, {
      title: "runtime",
      key: (entry) => entry.runtime,
      node: (entry) => nameOf(store, entry, "short"),
    }, store.kept.choice(`figures of ${groupTitle(group)} sorted by`, null));
    return [h("section", { class: "block", id: `figures-${place}` },
      h("h3", {}, "All figures", h("span", { class: "about" }, groupTitle(group))),
      h("div", { class: "tables" }, ...sections(group, cases).map((section) => tables.section(section, groupTitle(group)))))];
  });
}

function downloads(store: Store, raw: string): HTMLElement {
  const run = store.page.summary.run || "run";
  const all: Download[] = [...store.page.downloads, { name: `${run}.json`, type: "application/json", text: raw }];
  return h("section", { class: "block", id: "downloads" }, h("h3", {}, "Downloads"),
    h("p", { class: "buttons" }, ...all.map((one) => button(one.name, () => save(one)))),
    h("p", { class: "note" }, "They are inside this page; nothing is fetched. The JSON is all data that the page shows, the CSV a row a case; every second of every trial is in the run's own directory, in `trials/`."));
}

function save({ name, type, text: content }: Download): void {
  const address = URL.createObjectURL(new Blob([content], { type: type || "text/plain" }));
  // The name is data too: it gets no path, and no characters with a meaning to a shell or file
  // system.
  const link = h("a", { href: address, download: name.replace(/[^\w.-]+/g, "-") || "data" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// The evidence: everything that the answer rests on.

import { button, h, later, scroller } from "./dom.ts";
import * as format from "./format.ts";
import { sections } from "./columns.ts";
import type { Download } from "./data.ts";
import { cellsOf, nameOf } from "./ranking.ts";
import { runtimeEvidence, text } from "./runtimes.ts";
import type { Store } from "./store.ts";
import { Tables } from "./tables.ts";
import { trialEvidence } from "./trials.ts";
import { groupTitle } from "./words.ts";

export function evidence(store: Store, raw: string): HTMLElement {
  return h("section", { id: "evidence", "aria-labelledby": "evidence-title" },
    h("h2", { id: "evidence-title" }, "Evidence"),
    ...figures(store),
    ...runtimeEvidence(store),
    machine(store),
    plan(store),
    ...trialEvidence(store),
    downloads(store, raw));
}

function figures(store: Store): HTMLElement[] {
  return store.page.summary.groups.flatMap((group, place) => {
    const cells = cellsOf(store, group).filter((cell) => cell.trials_counted > 0);
    if (cells.length === 0) return [];
    const tables = new Tables(cells, {
      title: "runtime",
      key: (cell) => cell.runtime,
      node: (cell) => nameOf(store, cell, "short"),
    });
    return [h("section", { class: "block", id: `figures-${place}` },
      h("h3", {}, "All figures", h("span", { class: "about" }, groupTitle(group))),
      h("div", { class: "tables" }, ...sections(group, cells).map((section) => tables.section(section, groupTitle(group)))))];
  });
}

function machine(store: Store): HTMLElement {
  const rows = store.page.evidence.machine;
  return h("section", { class: "block", id: "machine" }, h("h3", {}, "Machine"),
    rows.length === 0
      ? h("p", { class: "missing" }, "Nothing is known of it.")
      : scroller("Machine", h("table", { class: "figures words" }, h("caption", { class: "hidden" }, "The machine"),
        h("tbody", {}, ...rows.map(([label, value]) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, value)))))));
}

function plan(store: Store): HTMLElement {
  const { plan_text: planText, flags, command } = store.page.evidence;
  const { seed, rounds } = store.page.summary;
  return h("section", { class: "block", id: "plan" }, h("h3", {}, "Plan, and how to run it again"),
    command ? h("div", { class: "copy" }, text("Command", command), copyButton(command)) : h("p", { class: "missing" }, "The command is not known."),
    h("p", { class: "note" }, rounds > 0 ? `Seed ${seed}, ${format.numberOf(rounds, "round")}.` : "", flags.length > 0 ? ` Flags: ${flags.join(" ")}` : ""),
    planWords(planText, flags));
}

function planWords(planText: string, flags: string[]): HTMLElement {
  if (planText) return later("The plan as it was run", () => text("Plan", planText));
  return h("p", { class: "note" }, flags.length > 0 ? "There was no plan file: the flags are the plan." : "The plan is not known.");
}

function copyButton(content: string): HTMLElement {
  const made = button("Copy", () => {
    const said = (words: string) => {
      made.textContent = words;
      setTimeout(() => { made.textContent = "Copy"; }, 2000);
    };
    copy(content).then((done) => said(done ? "Copied" : "Select it and copy"));
  }, { "aria-live": "polite" });
  return made;
}

/** The clipboard may be refused to a page from a file; the old way works there. */
async function copy(content: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(content);
    return true;
  } catch {
    const area = h("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = content;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function downloads(store: Store, raw: string): HTMLElement {
  const run = store.page.summary.run || "run";
  const all: Download[] = [...store.page.downloads, { name: `${run}.json`, type: "application/json", text: raw }];
  return h("section", { class: "block", id: "downloads" }, h("h3", {}, "Downloads"),
    h("p", { class: "buttons" }, ...all.map((one) => button(one.name, () => save(one)))),
    h("p", { class: "note" }, "They are inside this page; nothing is fetched. The JSON is all data that the page shows."));
}

function save({ name, type, text: content }: Download): void {
  const address = URL.createObjectURL(new Blob([content], { type: type || "text/plain" }));
  // A name is data too: no path, nothing that a shell or a file system would take for more.
  const link = h("a", { href: address, download: name.replace(/[^\w.-]+/g, "-") || "data" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

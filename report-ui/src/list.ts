// The list of runs: it shows each run's state and answer, and lets the reader choose runs for a
// combined report.

import type { LinkedRun } from "./data.generated.ts";
import { h, withCode } from "./dom.ts";
import * as format from "./format.ts";
import { overAddress, type RunList } from "./history.ts";
import { placeOf, reopen, resume } from "./place.ts";
import { readData } from "./read.ts";
import { Strip } from "./strip.ts";
import { themeButton } from "./theme.ts";
import { stateBadge } from "./words.ts";

const SENTENCES = 2;

export class ListView {
  readonly strip = new Strip("Connection");
  private readonly chosen = new Set<string>();
  private readonly main = h("main", { class: "list" });
  private list: RunList;

  constructor(private readonly root: HTMLElement, { list, problems }: { list: RunList; problems: string[] }) {
    this.list = list;
    document.title = "stampede runs";
    const version = list.stampede ? `page written by stampede ${list.stampede}` : "";
    root.append(
      h("header", {}, h("h1", {}, "stampede", h("span", {}, " runs")),
        h("p", {}, list.results ? `in ${list.results}` : ""),
        h("div", { class: "tools" },
          list.rows ? h("nav", { "aria-label": "Parts" }, h("a", { href: list.rows }, "Rows over the runs")) : null,
          themeButton(new AbortController().signal))),
      this.strip.element,
      this.main,
      h("footer", {}, h("p", {}, version)));
    this.fill(problems);
  }

  /** Replaces the list by a newer one. */
  show(raw: string): void {
    const data = readData(raw);
    if (data.kind !== "list") return;
    const place = placeOf(this.root);
    this.list = data.list;
    this.fill(data.problems);
    reopen(this.root, place);
    resume(this.root, place);
  }

  private fill(problems: string[]): void {
    const { entries } = this.list;
    const there = new Set(entries.filter((one) => this.canBeLaid(one)).map((one) => one.name));
    for (const name of this.chosen) {
      if (!there.has(name)) this.chosen.delete(name);
    }
    this.main.replaceChildren(
      ...problems.map((problem) => h("p", { class: "problem", role: "note" }, problem)),
      there.size > 1 ? this.bar() : "",
      entries.length === 0 ? empty(this.list) : this.table());
  }

  private canBeLaid(entry: LinkedRun): boolean {
    return this.list.over !== "" && entry.page !== "" && entry.state !== "unreadable";
  }

  private table(): HTMLElement {
    const hasChoice = this.list.entries.filter((one) => this.canBeLaid(one)).length > 1;
    const heads = ["run", "state", "app and load", "runtimes", "trials", "answer"];
    return h("table", { class: "history", role: "table" },
      h("caption", { class: "hidden" }, "Runs, the newest first"),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
        hasChoice ? h("td", { role: "cell" }) : null,
        ...heads.map((head) => h("th", { scope: "col", role: "columnheader" }, head)))),
      h("tbody", { role: "rowgroup" }, ...this.list.entries.map((entry) => this.row(entry, hasChoice))));
  }

  private row(entry: LinkedRun, hasChoice: boolean): HTMLElement {
    const cell = (name: string, ...children: (Node | string | null)[]) =>
      h("td", { class: name, role: "cell" }, ...children);
    const pick = this.canBeLaid(entry) ? this.box(entry) : null;
    const badge = stateBadge(entry.state);
    return h("tr", { role: "row", class: entry.state, "data-key": entry.name },
      hasChoice ? cell("pick", pick) : null,
      h("th", { class: "run", scope: "row", role: "rowheader" },
        entry.page ? h("a", { href: entry.page }, entry.name) : h("span", {}, entry.name),
        entry.started_at ? h("small", {}, format.date(entry.started_at)) : null),
      cell("state", h("span", { class: `badge ${badge.tone}` }, badge.words)),
      ...(entry.state === "unreadable"
        ? [h("td", { class: "why", role: "cell", colspan: 4 }, "It cannot be read", entry.why ? `: ${entry.why}` : ".")]
        : [
          cell("what", h("span", {}, entry.apps.join(", ") || format.NONE), entry.loads.length > 0 ? h("small", {}, entry.loads.join(", ")) : null),
          cell("runtimes", ...runtimes(entry)),
          cell("trials", ...trials(entry)),
          cell("said", ...answers(entry)),
        ]));
  }

  private box({ name }: LinkedRun): HTMLElement {
    const box = h("input", { type: "checkbox", checked: this.chosen.has(name), "aria-label": `Choose run ${name}` });
    box.addEventListener("change", () => {
      if (box.checked) this.chosen.add(name);
      else this.chosen.delete(name);
      this.main.querySelector(".over")?.replaceWith(this.bar());
    });
    return h("label", {}, box);
  }

  /** The chosen runs and the link to their combined report, in the list's order: the newest first. */
  private bar(): HTMLElement {
    const names = this.list.entries.map((one) => one.name).filter((name) => this.chosen.has(name));
    const words = names.length === 0 ? "Choose two runs or more to lay them over each other."
      : names.length === 1 ? "One run is chosen: choose another to lay it over."
      : `${names.length} runs are chosen.`;
    return h("div", { class: names.length > 0 ? "over some" : "over", role: "region", "aria-label": "Lay runs over each other" },
      h("p", { role: "status" }, words),
      names.length > 1 ? h("a", { class: "act", href: overAddress(this.list.over, names) }, "Lay them over each other") : null);
  }
}

/** Each name is an element of its own, so that no line breaks at a hyphen. */
function runtimes({ runtimes: names }: LinkedRun): (Node | string)[] {
  if (names.length === 0) return [format.NONE];
  return names.flatMap((name, place) => [h("span", {}, place + 1 < names.length ? `${name},` : name), " "]);
}

function trials(entry: LinkedRun): (Node | string | null)[] {
  const { trials_ended: ended, trials_planned: planned, trials_invalid: invalid, rounds } = entry;
  const share = planned > 0 ? Math.min(1, ended / planned) : 0;
  const fill = h("span", { class: "fill" });
  fill.style.setProperty("width", `${(share * 100).toFixed(2)}%`);
  return [
    h("span", {}, ended < planned ? `${ended} of ${planned}` : String(ended)),
    rounds > 0 ? h("small", {}, format.numberOf(rounds, "round")) : null,
    invalid > 0 ? h("small", { class: "bad" }, `${invalid} invalid`) : null,
    entry.state === "under_way" ? h("div", { class: "bar", "aria-hidden": "true" }, fill) : null,
  ];
}

function answers(entry: LinkedRun): Node[] {
  const all = entry.answers.filter((one) => one.sentence !== "");
  if (all.length === 0) return [h("span", { class: "faint" }, entry.state === "under_way" ? "nothing yet" : "nothing can be said")];
  const isSingle = entry.answers.length < 2;
  const made = all.map(({ app, load, sentence }) => h("p", {},
    isSingle ? null : h("b", {}, `${app} · ${load}: `), format.tied(sentence)));
  const rest = made.slice(SENTENCES);
  if (rest.length === 0) return made;
  return [...made.slice(0, SENTENCES),
    h("details", { "data-key": "more" }, h("summary", {}, `${rest.length} more`), ...rest)];
}

function empty(list: RunList): HTMLElement {
  const where = list.results ? ` in \`${list.results}\`` : "";
  const then = list.events ? ", and it appears here by itself." : ".";
  return h("section", { class: "nothing-yet" },
    h("h2", {}, "There is no run yet"),
    h("p", {}, ...withCode(`There is none${where}. \`stampede compare\` makes one${then}`)),
    h("pre", { tabindex: 0, role: "region", "aria-label": "A first run" }, "stampede compare --app hello --runtimes nginx-fpm,php-builtin --rate 200 --for 30s"));
}

// The evidence about each run: its machine, its plan, and the command that repeats it.

import type { Run } from "./data.generated.ts";
import { machineFacts, planLines, runFacts, type Fact } from "./differ.ts";
import { button, h, later, scroller } from "./dom.ts";
import * as format from "./format.ts";
import { lookOfRun, named } from "./look.ts";
import { factRows, text } from "./runtimes.ts";
import type { Store } from "./store.ts";

export function runEvidence(store: Store): HTMLElement[] {
  const { runs } = store.page;
  const [first] = runs;
  if (!first) return [];
  if (runs.length === 1) return [machine(first), block("plan", "Plan, and how to run it again", ...plan(store, first, 0))];
  return [machines(runs), block("plan", "Plans, and how to run them again",
    ...runs.flatMap((run, place) => [h("h4", { class: "run-title" }, named(lookOfRun(place), `run ${run.label}`)), ...plan(store, run, place)]))];
}

function block(id: string, title: string, ...children: (Node | null)[]): HTMLElement {
  return h("section", { class: "block", id }, h("h3", {}, title), ...children);
}

function machine({ machine: rows }: Run): HTMLElement {
  if (rows.length === 0) return block("machine", "Machine", h("p", { class: "missing" }, "Nothing is known of it."));
  return block("machine", "Machine", scroller("Machine", h("table", { class: "figures words" },
    h("caption", { class: "hidden" }, "The machine"),
    h("tbody", {}, ...rows.map(([label, value]) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, value)))))));
}

/** The runs' machines side by side. A value that differs from most is marked. */
function machines(runs: Run[]): HTMLElement {
  const all: Fact[] = [...machineFacts(runs), ...runFacts(runs)];
  const machine = all.filter((fact) => fact.topic === "machine");
  const differing = machine.filter((fact) => fact.differs).map((fact) => fact.name);
  const said = machine.length === 0 ? "Nothing is known of the machines."
    : differing.length === 0 ? "All that is known of the machines is the same in all runs."
    : `What differs is marked. Of the machines: ${format.listOf(differing)}.`;
  const unknown = runs.filter((run) => run.machine.length === 0).map((run) => run.label);
  return block("machine", "Machines and runs",
    h("p", { class: "note" }, said, unknown.length > 0 ? ` Nothing is known of the machine of ${format.listOf(unknown)}.` : ""),
    scroller("Machines and runs", h("table", { class: "figures settings" },
      h("caption", { class: "hidden" }, "Machines and runs, side by side"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "setting"),
        ...runs.map((run, place) => h("th", { scope: "col" }, named(lookOfRun(place), `run ${run.label}`))))),
      h("tbody", {}, ...factRows(all, runs.length)))));
}

function plan(store: Store, run: Run, place: number): (Node | null)[] {
  const { command, rounds, seed, flags } = run;
  const name = run.label ? ` of run ${run.label}` : "";
  return [
    command
      ? h("div", { class: "copy" }, text(`Command${name}`, command), copyButton(command, name))
      : h("p", { class: "missing" }, "The command is not known."),
    h("p", { class: "note" }, run.plan_text ? "With the plan below saved as plan.yaml. " : "", rounds > 0 ? `Seed ${seed}, ${format.numberOf(rounds, "round")}.` : "", flags.length > 0 ? ` Flags: ${flags.join(" ")}` : ""),
    planWords(store, run, place),
  ];
}

function planWords(store: Store, { plan_text: own, flags, label }: Run, place: number): HTMLElement {
  if (!own) {
    return h("p", { class: "note" }, flags.length > 0 ? "There was no plan file: the flags are the plan." : "The plan is not known.");
  }
  const others = store.page.runs.filter((_, other) => other !== place).map((run) => run.plan_text);
  if (others.length === 0) return later("The plan as it was run", () => text("Plan", own));
  const isSame = others.every((other) => other === own);
  const words = isSame ? "the same as the others'" : "lines that another run's plan lacks are marked";
  return later(`The plan of run ${label} as it was run: ${words}`, () => marked(label, own, others));
}

function marked(label: string, own: string, others: string[]): HTMLElement {
  const lines = planLines(own, others).flatMap(({ text, isOdd }) => [isOdd ? h("mark", {}, text) : text, "\n"]);
  return h("pre", { tabindex: 0, role: "region", "aria-label": `Plan of run ${label}` }, ...lines);
}

function copyButton(content: string, of: string): HTMLElement {
  const made = button("Copy", () => {
    const said = (words: string) => {
      made.textContent = words;
      setTimeout(() => { made.textContent = "Copy"; }, 2000);
    };
    copy(content).then((done) => said(done ? "Copied" : "Select it and copy"));
  }, { "aria-live": "polite", "data-key": `copy${of}` });
  return made;
}

/** Copies text. A page from a file may not get the clipboard; the older method works there. */
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

// The evidence about each trial: its verdict with reasons, its phases, errors and log lines.

import type { Case, TrialEvidence } from "./data.ts";
import { h, later } from "./dom.ts";
import * as format from "./format.ts";
import { named } from "./look.ts";
import { text } from "./runtimes.ts";
import type { Store } from "./store.ts";
import { Tables, type Column, type Field } from "./tables.ts";

export function trialEvidence(store: Store): HTMLElement[] {
  const { trials } = store.page.evidence;
  if (trials.length === 0) return [h("p", { class: "missing" }, "There is no trial on disk.")];
  return [verdicts(store, trials), phases(store, trials), errors(store, trials), logs(store, trials)];
}

function caseOf(store: Store, trial: TrialEvidence): Case | undefined {
  return store.page.summary.cases[trial.case];
}

function titleOf(store: Store, trial: TrialEvidence): string {
  const entry = caseOf(store, trial);
  const where = entry ? `${entry.runtime}, ${entry.app} · ${entry.load}` : "of no case";
  return `${numberOf(store, trial)}: ${where}, round ${trial.round}`;
}

/** `trial 7`; with several runs `A, trial 7`. */
function numberOf(store: Store, trial: TrialEvidence): string {
  const label = store.page.runs[trial.run]?.label;
  return label ? `${label}, trial ${trial.number}` : `trial ${trial.number}`;
}

function tables(store: Store, trials: TrialEvidence[], kept: string): Tables<TrialEvidence> {
  return new Tables(trials, {
    title: "trial",
    key: (trial) => trial.run * 1e9 + trial.number,
    node: (trial) => {
      const entry = caseOf(store, trial);
      const label = store.page.runs[trial.run]?.label ?? "";
      const number = h("span", { class: "number" }, label + (label ? "\u00a0" : "") + trial.number);
      return h("span", { class: "trial" }, number, entry ? named(store.look(entry.runtime), entry.runtime) : "of no case");
    },
  }, store.kept.choice(`${kept} sorted by`, null));
}

const plain = (value: string): Field => ({ text: value || format.NONE, key: value || null });

function verdicts(store: Store, trials: TrialEvidence[]): HTMLElement {
  const labels = [...new Set(trials.flatMap((trial) => trial.figures.map(([label]) => label)))];
  const figure = (label: string): Column<TrialEvidence> => ({
    title: label,
    field: (trial) => plain(trial.figures.find(([own]) => own === label)?.[1] ?? ""),
  });
  const columns: Column<TrialEvidence>[] = [
    { title: "round", field: (trial) => ({ text: String(trial.round), key: trial.round }) },
    { title: "load", field: (trial) => plain(caseOf(store, trial)?.load ?? "") },
    { title: "verdict", field: verdict },
    ...labels.map(figure),
    { title: "why", field: (trial) => plain(why(trial)) },
    { title: "what held it back", field: (trial) => plain(heldBack(store, trial)) },
  ];
  return h("section", { class: "block", id: "verdicts" }, h("h3", {}, "Verdicts and their figures"),
    tables(store, trials, "verdicts").section({ title: "every trial on disk", columns }, "Verdicts"));
}

function why({ reasons, notes }: TrialEvidence): string {
  return [...reasons, ...notes.map((note) => `note: ${note}`)].join("; ");
}

/** Each cause with the evidence for it. */
function heldBack(store: Store, trial: TrialEvidence): string {
  const found = caseOf(store, trial)?.trials.find((one) => one.number === trial.number)?.why ?? [];
  const said = found.map((one) => one.evidence.length > 0 ? `${one.text} (${one.evidence.join("; ")})` : one.text);
  return said.join("; ") || "not known";
}

function verdict({ verdict }: TrialEvidence): Field {
  const tone = verdict === "invalid" ? "bad" : verdict === "suspect" ? "warning" : undefined;
  return { text: verdict, key: verdict, ...(tone ? { tone } : {}) };
}

function phases(store: Store, trials: TrialEvidence[]): HTMLElement {
  const names = [...new Set(trials.flatMap((trial) => trial.phases.map((phase) => phase.name)))];
  const columns = names.map((name): Column<TrialEvidence> => ({
    title: name,
    field: (trial) => {
      const own = trial.phases.filter((phase) => phase.name === name);
      if (own.length === 0) return { text: format.NONE, key: null, tone: "faint" };
      const ms = own.reduce((sum, phase) => sum + phase.end - phase.begin, 0);
      // Phases are stored to a tenth of a millisecond.
      return { text: ms < 0.1 ? `< 0.1${format.THIN}ms` : format.time(ms * 1e6), key: ms };
    },
  }));
  return h("section", { class: "block", id: "phases" }, h("h3", {}, "Phases"),
    names.length > 0
      ? tables(store, trials, "phases").section({ title: "how long each phase took", columns }, "Phases")
      : h("p", { class: "missing" }, "No phase was kept."));
}

function errors(store: Store, trials: TrialEvidence[]): HTMLElement {
  const some = trials.filter((trial) => trial.errors.length > 0);
  return h("section", { class: "block", id: "errors" }, h("h3", {}, "Errors"),
    some.length === 0 ? h("p", { class: "missing" }, "Every request got its correct answer.") : null,
    ...some.map((trial) => later(`${titleOf(store, trial)}: ${format.numberOf(trial.errors.length, "kind")}`, () =>
      h("dl", { class: "errors" }, ...trial.errors.flatMap(([kind, told]) => [
        h("dt", {}, kind), h("dd", {}, told),
      ])))));
}

function logs(store: Store, trials: TrialEvidence[]): HTMLElement {
  const some = trials.filter((trial) => trial.log_lines.length > 0);
  return h("section", { class: "block", id: "logs" }, h("h3", {}, "Error lines of the logs"),
    some.length === 0 ? h("p", { class: "missing" }, "No log has a line that looks like an error.") : null,
    ...some.map((trial) => later(`${titleOf(store, trial)}: ${format.numberOf(trial.log_lines.length, "line")}`, () =>
      text(titleOf(store, trial), trial.log_lines.map(([file, line]) => `${file}: ${line}`).join("\n")))));
}

// The list of runs: its types and its reader.

import { address, list, number, record, records, text, texts, type Raw } from "./raw.ts";

export type EntryState = "ended" | "under_way" | "cut_off" | "unreadable";

export interface Entry {
  name: string;
  started_at: string;
  state: EntryState;
  /** Why the run cannot be read; empty if it can. */
  why: string;
  apps: string[];
  loads: string[];
  runtimes: string[];
  rounds: number;
  trials_ended: number;
  trials_planned: number;
  trials_invalid: number;
  answers: { app: string; load: string; sentence: string }[];
  /** The address of the run's page; empty: it has none. */
  page: string;
}

export interface RunList {
  stampede: string;
  /** The newest run first. */
  entries: Entry[];
  /** The directory that holds the runs. */
  results: string;
  home: string;
  events: string;
  /** The address to which names of chosen runs are appended; empty: runs cannot be combined. */
  over: string;
}

export function toList(raw: Raw): RunList {
  const served = record(raw.served);
  return {
    stampede: text(raw.stampede),
    entries: records(list(raw.history)).map(toEntry),
    results: text(raw.results),
    home: address(served.home), events: address(served.events), over: address(served.over),
  };
}

function toEntry(raw: Raw): Entry {
  const states: EntryState[] = ["ended", "under_way", "cut_off", "unreadable"];
  return {
    name: text(raw.name), started_at: text(raw.started_at),
    state: states.find((one) => one === raw.state) ?? "unreadable",
    why: text(raw.why),
    apps: texts(raw.apps), loads: texts(raw.loads), runtimes: texts(raw.runtimes),
    rounds: number(raw.rounds),
    trials_ended: number(raw.trials_ended), trials_planned: number(raw.trials_planned),
    trials_invalid: number(raw.trials_invalid),
    answers: records(raw.answers).map((one) => ({
      app: text(one.app), load: text(one.load), sentence: text(one.sentence),
    })),
    page: address(raw.page),
  };
}

/** The address of a report of several chosen runs. */
export function overAddress(over: string, names: string[]): string {
  return over + names.map((name) => `&run=${encodeURIComponent(name)}`).join("");
}

// The list of runs: its type and its reader.

import type * as written from "./data.generated.ts";
import type { LinkedRun, State } from "./data.generated.ts";
import { address, isNumber, list, number, record, records, text, texts, type Raw } from "./raw.ts";

/** An empty address: there is none. */
export interface RunList extends Pick<written.List, "stampede" | "results">, written.ListAddresses {
  entries: LinkedRun[];
}

export function toList(raw: Raw<written.List>): RunList {
  const served = record<written.ListAddresses>(raw.served);
  return {
    stampede: text(raw.stampede),
    entries: records<LinkedRun>(list(raw.history)).map(toEntry),
    results: text(raw.results),
    home: address(served.home), events: address(served.events), over: address(served.over),
    rows: address(served.rows),
  };
}

function toEntry(raw: Raw<LinkedRun>): LinkedRun {
  const states: State[] = ["ended", "under_way", "cut_off", "unreadable"];
  return {
    name: text(raw.name), started_at: text(raw.started_at),
    state: states.find((one) => one === raw.state) ?? "unreadable",
    why: text(raw.why),
    apps: texts(raw.apps), loads: texts(raw.loads), runtimes: texts(raw.runtimes),
    rounds: number(raw.rounds),
    trials_ended: number(raw.trials_ended), trials_planned: number(raw.trials_planned),
    trials_invalid: number(raw.trials_invalid),
    answers: records<written.Answer>(raw.answers).map((one) => ({
      app: text(one.app), load: text(one.load), sentence: text(one.sentence),
    })),
    page: address(raw.page),
  };
}

/** Each row over the runs. */
export interface OverRuns extends Pick<written.OverRuns, "stampede" | "results" | "rows" | "runs_min" | "older" | "pages"> {
  /** The list of runs; empty: there is none. */
  home: string;
}

export function toOverRuns(raw: Raw<written.OverRuns>): OverRuns {
  const pages = Object.entries(record(raw.pages)).map(([name, page]) => [name, address(page)]);
  return {
    stampede: text(raw.stampede), results: text(raw.results),
    rows: records<written.RowOverRuns>(raw.rows).map(toRow),
    runs_min: number(raw.runs_min), older: number(raw.older),
    pages: Object.fromEntries(pages),
    home: address(record<written.ServerLinks>(raw.served).home),
  };
}

function toRow(raw: Raw<written.RowOverRuns>): written.RowOverRuns {
  const runs = records<written.RunOfRow>(raw.runs).map((run) => ({
    name: text(run.name), started_at: text(run.started_at),
    commit: typeof run.commit === "string" ? run.commit : null,
    changed_files: isNumber(run.changed_files) ? run.changed_files : null,
  }));
  return {
    runtime: text(raw.runtime), app: text(raw.app), load: text(raw.load), machine: text(raw.machine),
    is_control: raw.is_control === true, runs,
    figures: records<written.FigureOverRuns>(raw.figures).map((one) => toFigure(one, runs.length)),
  };
}

/** A point or a change beyond the runs has no place. */
function toFigure(raw: Raw<written.FigureOverRuns>, runs: number): written.FigureOverRuns {
  const points = records<written.PointOfRun>(raw.points).slice(0, runs).map((point) => {
    const [low, high] = list(point.interval);
    const interval: [number, number] | null = isNumber(low) && isNumber(high) ? [low, high] : null;
    return { value: isNumber(point.value) ? point.value : null, interval, text: text(point.text) };
  });
  const changes = records<written.ChangeOverRuns>(raw.changes).map((change) => ({
    at: number(change.at), is_worse: change.is_worse === true, text: text(change.text), differences: texts(change.differences),
  }));
  return {
    title: text(raw.title), is_good: raw.is_good === true, points,
    changes: changes.filter((change) => change.at >= 0 && change.at < runs),
  };
}

/** The address of a report of several chosen runs. */
export function overAddress(over: string, names: string[]): string {
  return over + names.map((name) => `run=${encodeURIComponent(name)}`).join("&");
}

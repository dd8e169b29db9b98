// The list of runs: its type and its reader.

import type * as written from "./data.generated.ts";
import type { LinkedRun, State } from "./data.generated.ts";
import { address, list, number, record, records, text, texts, type Raw } from "./raw.ts";

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

/** The address of a report of several chosen runs. */
export function overAddress(over: string, names: string[]): string {
  return over + names.map((name) => `&run=${encodeURIComponent(name)}`).join("");
}

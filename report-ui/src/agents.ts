// The agents that sent a load: a row for each of a case.

import type { AgentFigures } from "./data.generated.ts";
import type { Case } from "./data.ts";
import { h } from "./dom.ts";
import * as format from "./format.ts";
import { casesOf, nameOf } from "./ranking.ts";
import type { Store } from "./store.ts";
import { Tables, type Column, type Field } from "./tables.ts";
import { groupTitle } from "./words.ts";

interface Row {
  case: Case;
  agent: AgentFigures;
}

export function agents(store: Store): HTMLElement[] {
  return store.page.summary.groups.flatMap((group, place) => {
    const rows = casesOf(store, group).flatMap((one) => one.agents.map((agent): Row => ({ case: one, agent })));
    if (rows.length === 0) return [];
    const tables = new Tables(rows, {
      title: "runtime",
      key: (row) => row.case.runtime,
      node: (row) => nameOf(store, row.case, "short"),
    }, store.kept.choice(`agents of ${groupTitle(group)} sorted by`, null));
    return [h("section", { class: "block", id: `agents-${place}` },
      h("h3", {}, "Who sent the load", h("span", { class: "about" }, groupTitle(group))),
      tables.section({ title: "agents", columns: COLUMNS }, groupTitle(group)))];
  });
}

const count = (of: (agent: AgentFigures) => number) => ({ agent }: Row): Field =>
  ({ text: format.count(of(agent)), key: of(agent) });

const time = (of: (agent: AgentFigures) => number | null, before = "") => ({ agent }: Row): Field => {
  const ns = of(agent);
  return { text: ns === null ? format.NONE : before + format.time(ns), key: ns };
};

const COLUMNS: Column<Row>[] = [
  { title: "agent", field: ({ agent }) => ({ text: agent.name, key: agent.name }) },
  { title: "planned", field: count((agent) => agent.planned) },
  { title: "ok", field: count((agent) => agent.ok) },
  { title: "failed", field: count((agent) => agent.failed) },
  { title: "dropped", field: count((agent) => agent.dropped) },
  { title: "p50 of service time", field: time((agent) => agent.service_time_p50_ns) },
  { title: "p95", field: time((agent) => agent.service_time_p95_ns) },
  { title: "p99", field: time((agent) => agent.service_time_p99_ns) },
  { title: "busiest load thread", field: ({ agent }) => ({ text: format.share(agent.busy_share), key: agent.busy_share }) },
  { title: "start error", field: time((agent) => agent.start_error_ns, "±") },
  {
    title: "trials that lost it",
    field: ({ agent }) => ({ text: format.count(agent.lost), key: agent.lost, tone: agent.lost > 0 ? "bad" : undefined }),
  },
];

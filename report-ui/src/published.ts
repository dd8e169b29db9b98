// Published tables beside what was measured: what follows, the charts drawn from both, the figures.

import type { ColumnComparison, PublishedComparison, TableComparison } from "./data.generated.ts";
import { h, s } from "./dom.ts";
import * as format from "./format.ts";
import { acrossPublished } from "./published_across.ts";
import { claims } from "./published_claims.ts";
import type { Store } from "./store.ts";
import { Tables, type Column, type Field, type Section } from "./tables.ts";

export function published(store: Store): HTMLElement | null {
  const { published: found } = store.page.summary;
  if (!found) return null;
  return h("section", { id: "published", "aria-labelledby": "published-title" },
    h("h2", { id: "published-title" }, "Published beside measured"),
    h("p", { class: "about" }, ...publication(found)),
    h("p", { class: "sentence" }, found.sentence),
    acrossPublished(store, found),
    ...found.tables.map((table, place) => tableOf(store, table, place)),
    claims(found.claims));
}

function publication({ publication: name, title, source }: PublishedComparison): (Node | string)[] {
  const words = [name, title].filter(Boolean).join(", ");
  // An address of a file is only followed where a browser would go anyway.
  return source && /^https?:\/\//.test(source) ? [h("a", { href: source, rel: "noreferrer" }, words)] : [words];
}

function tableOf(store: Store, table: TableComparison, place: number): HTMLElement {
  const rows = table.rows.map((_, row) => row);
  const tables = new Tables(rows, {
    title: "row",
    key: (row) => labelOf(table, row),
    node: (row) => document.createTextNode(labelOf(table, row)),
  }, store.kept.choice(`published table ${place} sorted by`, null));
  const ordered = table.columns.filter((column) => column.better);
  return h("details", { class: "block published", open: place === 0 },
    h("summary", {}, table.title),
    ...[table.note, ...table.notes].filter(Boolean).map((note) => h("p", { class: "about" }, note as string)),
    h("ul", {}, ...ordered.flatMap((column) => column.orders.filter((order) => order.pairs.length > 0).map((order) => h("li", {},
      order.sentence,
      ...order.pairs.flatMap((pair) => pair.outcome === "disagree"
        ? [h("p", { class: "about" }, disagreement(table, pair.better, pair.worse, pair.reason))] : []))))),
    h("div", { class: "pairs" }, ...ordered.map((column) => chart(table, column))),
    h("details", {},
      h("summary", {}, "All figures of the table"),
      ...table.columns.map((column) => tables.section(sectionOf(column), table.title))));
}

/** With the load, where the table has several. */
function labelOf(table: TableComparison, row: number): string {
  const found = table.rows[row];
  if (!found) return "";
  const several = table.rows.some((other) => other.load !== found.load);
  return found.label + (several && found.load ? ` · ${found.load}` : "") + (found.breaking ? " *" : "");
}

function disagreement(table: TableComparison, better: number, worse: number, reason?: string | null): string {
  const order = `published: ${labelOf(table, better)} is better than ${labelOf(table, worse)}; here it is worse`;
  return `${order}: ${reason || "the run has no evidence of a reason"}`;
}

function sectionOf(column: ColumnComparison): Section<number> {
  const field = (of: (row: number) => Field): Column<number>["field"] => of;
  const number = (value: number | null | undefined, end = ""): Field =>
    ({ text: value === null || value === undefined ? format.NONE : format.significant(value) + end, key: value ?? null });
  return {
    title: `${column.name}, ${column.unit}`,
    columns: [
      { title: "published", field: field((row) => number(column.entries[row]?.published)) },
      { title: "here", field: field((row) => hereOf(column, row)) },
      { title: "here ÷ published", field: field((row) => number(column.entries[row]?.ratio, `${format.THIN}×`)) },
    ],
  };
}

function hereOf(column: ColumnComparison, row: number): Field {
  const here = column.entries[row]?.measured;
  switch (here?.state) {
    case "exact": return { text: format.significant(here.value), key: here.value };
    case "at_least": return { text: `≥ ${format.significant(here.value)}`, key: here.value };
    case "failed": return { text: "failed", key: null, tone: "bad" };
    default: return { text: format.NONE, key: null };
  }
}

const WIDTH = 560;
const NAMES = 170;
const FIGURES = 70;
const ROW = 34;
const BAR = 11;

/** Two bars for each row. Each side has a scale of its own: machines differ, shapes may agree. */
function chart(table: TableComparison, column: ColumnComparison): HTMLElement {
  const rows = table.rows.map((_, row) => ({
    label: labelOf(table, row),
    there: column.entries[row]?.published ?? null,
    here: hereOf(column, row),
  })).filter((row) => row.there !== null || row.here.text !== format.NONE);
  const most = (values: (number | null)[]) => Math.max(...values.map((value) => value ?? 0), 1e-12);
  const mostThere = most(rows.map((row) => row.there));
  const mostHere = most(rows.map((row) => typeof row.here.key === "number" ? row.here.key : null));
  const room = WIDTH - NAMES - FIGURES;
  const bar = (y: number, share: number, kind: string, text: string) => [
    s("rect", { class: kind, x: NAMES, y, width: Math.max(share * room, 0), height: BAR, rx: 2 }),
    s("text", { class: "figure", x: NAMES + share * room + 5, y: y + BAR - 2 }, text),
  ];
  const drawn = rows.flatMap((row, place) => {
    const y = place * ROW + 4;
    const here = typeof row.here.key === "number" ? row.here.key / mostHere : 0;
    return [
      s("text", { class: "name", x: NAMES - 8, y: y + BAR + 4, "text-anchor": "end" }, shortened(row.label)),
      ...bar(y, (row.there ?? 0) / mostThere, "there", row.there === null ? format.NONE : format.significant(row.there)),
      ...bar(y + BAR + 2, here, "here", row.here.text),
    ];
  });
  const height = rows.length * ROW + 4;
  const name = `${column.name}, ${column.unit}`;
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${name}: published and measured` }, ...drawn);
  return h("figure", {},
    svg as unknown as HTMLElement,
    h("figcaption", {},
      h("strong", {}, name), ` · ${column.better === "lower" ? "shorter is better" : "longer is better"} · `,
      h("span", { class: "there" }, "published"), " ", h("span", { class: "here" }, "here"),
      ", each to its own scale"));
}

function shortened(label: string): string {
  return label.length > 26 ? `${label.slice(0, 25)}…` : label;
}

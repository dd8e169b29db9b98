// Sortable tables. Several that show the same rows are sorted as one.

import { h, scroller } from "./dom.ts";
import { sorted, type Direction, type Key } from "./sort.ts";

export interface Field {
  text: string;
  key: Key;
  tone?: "bad" | "warning" | "faint" | "strong";
}

export interface Column<T> {
  title: string;
  field: (row: T) => Field;
}

export interface Section<T> {
  title: string;
  columns: Column<T>[];
}

/** Tables of the same rows; `name` makes the heading of a row. */
export class Tables<T> {
  private readonly bodies: { body: HTMLElement; rows: HTMLElement[] }[] = [];
  private readonly heads: HTMLElement[] = [];

  constructor(
    private readonly rows: T[],
    private readonly name: { title: string; node: (row: T) => Node; key: (row: T) => Key },
  ) {}

  section({ title, columns }: Section<T>, label: string): HTMLElement {
    const keys = (column: Column<T>) => this.rows.map((row) => column.field(row).key);
    const head = h("tr", {},
      this.head(this.name.title, "name", () => this.rows.map((row) => this.name.key(row))),
      ...columns.map((column) => this.head(column.title, "", () => keys(column))));
    const rows = this.rows.map((row) => h("tr", {},
      h("th", { scope: "row" }, this.name.node(row)),
      ...columns.map((column) => fieldOf(column.field(row)))));
    const body = h("tbody", {}, ...rows);
    this.bodies.push({ body, rows });
    const table = h("table", { class: "figures" },
      h("caption", {}, title), h("thead", {}, head), body);
    return scroller(`${label}: ${title}`, table);
  }

  private head(title: string, kind: string, keys: () => Key[]): HTMLElement {
    const press = h("button", { type: "button" }, title);
    const head = h("th", { scope: "col", class: kind || null }, press);
    press.addEventListener("click", () => {
      const next: Direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      this.heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", next);
      this.order(sorted(keys(), next));
    });
    this.heads.push(head);
    return head;
  }

  private order(places: number[]): void {
    for (const { body, rows } of this.bodies) {
      body.append(...places.flatMap((place) => rows[place] ?? []));
    }
  }
}

function fieldOf({ text, tone }: Field): HTMLElement {
  return h("td", { class: tone ?? null }, text);
}

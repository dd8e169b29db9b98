// Sortable tables. Tables that show the same rows are sorted together.

import { h, scroller } from "./dom.ts";
import type { Choice } from "./kept.ts";
import { sorted, type Direction, type Key } from "./sort.ts";

export interface Field {
  text: string;
  key: Key;
  tone?: "bad" | "warning" | "faint" | "strong";
  /** An explanation of the field. */
  title?: string;
}

export interface Column<T> {
  title: string;
  field: (row: T) => Field;
}

export interface Section<T> {
  title: string;
  columns: Column<T>[];
}

/** The column and direction of the sorting. */
export interface SortedBy {
  column: string;
  direction: Direction;
}

/** Tables of the same rows. `name` makes the heading of a row. */
export class Tables<T> {
  private readonly bodies: { body: HTMLElement; rows: HTMLElement[] }[] = [];
  private readonly heads: HTMLElement[] = [];
  /** The sorted places of the rows; null: not sorted. */
  private places: number[] | null = null;

  constructor(
    private readonly rows: T[],
    private readonly name: { title: string; node: (row: T) => Node; key: (row: T) => Key },
    private readonly by: Choice<SortedBy | null>,
  ) {}

  section({ title, columns }: Section<T>, label: string): HTMLElement {
    const keys = (column: Column<T>) => this.rows.map((row) => column.field(row).key);
    const head = h("tr", {},
      this.head(title, this.name.title, "name", () => this.rows.map((row) => this.name.key(row))),
      ...columns.map((column) => this.head(title, column.title, "", () => keys(column))));
    const rows = this.rows.map((row) => h("tr", {},
      h("th", { scope: "row" }, this.name.node(row)),
      ...columns.map((column) => fieldOf(column.field(row)))));
    const body = h("tbody", {}, ...rows);
    this.bodies.push({ body, rows });
    if (this.places) this.order(this.places);
    const table = h("table", { class: "figures" },
      h("caption", {}, title), h("thead", {}, head), body);
    return scroller(`${label}: ${title}`, table);
  }

  private head(section: string, title: string, kind: string, keys: () => Key[]): HTMLElement {
    const press = h("button", { type: "button" }, title);
    const head = h("th", { scope: "col", class: kind || null }, press);
    const column = `${section}\n${title}`;
    const sort = (direction: Direction) => {
      this.heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction);
      this.by.value = { column, direction };
      this.order(sorted(keys(), direction));
    };
    press.addEventListener("click", () => {
      sort(head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
    });
    this.heads.push(head);
    if (this.by.value?.column === column) sort(this.by.value.direction);
    return head;
  }

  private order(places: number[]): void {
    this.places = places;
    for (const { body, rows } of this.bodies) {
      body.append(...places.flatMap((place) => rows[place] ?? []));
    }
  }
}

function fieldOf({ text, tone, title }: Field): HTMLElement {
  return h("td", { class: tone ?? null, title: title ?? null }, text);
}

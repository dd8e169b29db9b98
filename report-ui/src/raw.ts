// Reads values of unknown type from JSON. A value that is missing or of the wrong type becomes an
// empty one.

import type { Column } from "./data.ts";

/** The names of the fields of `T`; of a union, those of each alternative. */
type Fields<T> = T extends unknown ? keyof T : never;

/** What should be a `T`: its fields may be missing, and may hold anything. */
export type Raw<T = Record<string, unknown>> = { [Field in Fields<T>]?: unknown };

export function isNumber(raw: unknown): raw is number {
  return typeof raw === "number" && Number.isFinite(raw);
}

export function number(raw: unknown): number {
  return isNumber(raw) ? raw : 0;
}

export function text(raw: unknown): string {
  if (typeof raw === "string") return raw;
  if (raw === null || raw === undefined) return "";
  return typeof raw === "object" ? JSON.stringify(raw) : String(raw);
}

export function list(raw: unknown): unknown[] {
  return Array.isArray(raw) ? raw : [];
}

export function record<T = Record<string, unknown>>(raw: unknown): Raw<T> {
  return typeof raw === "object" && raw !== null && !Array.isArray(raw) ? (raw as Raw<T>) : {};
}

export function records<T = Record<string, unknown>>(raw: unknown): Raw<T>[] {
  return list(raw).map(record<T>);
}

/** The sentences of facts: `{code, …, text}`, or plain texts in an older result. */
export function sentences(raw: unknown): string[] {
  return list(raw).map((one) => (typeof one === "string" ? one : text(record(one).text))).filter(Boolean);
}

export function texts(raw: unknown): string[] {
  return list(raw).map(text);
}

export function numbers(raw: unknown): number[] {
  return list(raw).filter(isNumber);
}

export function column(raw: unknown): Column {
  return list(raw).map((value) => (isNumber(value) ? value : null));
}

export function columns(raw: unknown): Record<string, Column> {
  return Object.fromEntries(Object.entries(record(raw)).map(([name, of]) => [name, column(of)]));
}

export function pairs(raw: unknown): [string, string][] {
  return list(raw).map((pair) => [text(list(pair)[0]), text(list(pair)[1])]);
}

export function textRecord(raw: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(record(raw)).map(([name, of]) => [name, text(of)]));
}

/** An address on the server that the page came from. Anything else becomes empty. */
export function address(raw: unknown): string {
  const written = text(raw);
  // Browsers drop white space inside, so `/ /` would become the address of another server.
  return /^\/(?!\/)[^\s\\]*$/.test(written) ? written : "";
}

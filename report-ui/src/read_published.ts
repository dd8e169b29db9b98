// Reads published tables beside figures, as `read.ts` reads the rest.

import type * as written from "./data.generated.ts";
import { isNumber, number, record, records, text, texts, type Raw } from "./raw.ts";

const known = (value: unknown) => isNumber(value) ? value : null;
const words = (value: unknown) => typeof value === "string" ? value : null;

export function toPublished(raw: Raw<written.PublishedComparison>): written.PublishedComparison {
  return {
    publication: text(raw.publication), title: words(raw.title), source: words(raw.source),
    rounds: number(raw.rounds), sentence: text(raw.sentence),
    tables: records<written.TableComparison>(raw.tables).map(toTable),
    claims: records<written.ClaimComparison>(raw.claims).map((claim) => ({
      text: text(claim.text), runtime: text(claim.runtime), written: text(claim.written),
      times: toTimes(record<written.Times>(claim.times)),
      checks: records<written.ClaimCheck>(claim.checks).map(toCheck), sentences: texts(claim.sentences),
    })),
  };
}

function toCheck(raw: Raw<written.ClaimCheck>): written.ClaimCheck {
  const [low, high] = Array.isArray(raw.interval) ? raw.interval : [];
  return {
    against: text(raw.against), app: text(raw.app), load: text(raw.load), ratio: known(raw.ratio),
    interval: isNumber(low) && isNumber(high) ? [low, high] : null,
    // The sentences say it.
    outcome: "too_few_rounds", equal_budgets: raw.equal_budgets === true,
  };
}

function toTimes(raw: Raw<written.Times>): written.Times {
  return { least: known(raw.least), most: known(raw.most) };
}

function toTable(raw: Raw<written.TableComparison>): written.TableComparison {
  return {
    title: text(raw.title), note: words(raw.note),
    rows: records<written.ComparedRow>(raw.rows).map((row) => ({
      label: text(row.label), runtime: text(row.runtime), app: words(row.app), load: words(row.load),
      breaking: row.breaking ? toBreaking(record<written.BreakingPoints>(row.breaking)) : null,
    })),
    columns: records<written.ColumnComparison>(raw.columns).map(toColumn),
    notes: texts(raw.notes),
  };
}

function toBreaking(raw: Raw<written.BreakingPoints>): written.BreakingPoints {
  return {
    published_per_second: number(raw.published_per_second),
    measured_per_second: known(raw.measured_per_second),
  };
}

function toColumn(raw: Raw<written.ColumnComparison>): written.ColumnComparison {
  return {
    name: text(raw.name), unit: text(raw.unit),
    better: raw.better === "lower" || raw.better === "higher" ? raw.better : null,
    entries: records<written.Cell>(raw.entries).map((cell) => ({
      published: known(cell.published), measured: toValue(record(cell.measured)), ratio: known(cell.ratio),
    })),
    orders: records<written.Order>(raw.orders).map(toOrder),
  };
}

function toValue(raw: Raw<{ state: string; value: number }>): written.CellValue {
  if (raw.state === "failed") return { state: "failed" };
  if (!isNumber(raw.value)) return { state: "none" };
  return { state: raw.state === "at_least" ? "at_least" : "exact", value: raw.value };
}

function toOrder(raw: Raw<written.Order>): written.Order {
  const counts = record<written.PairCounts>(raw.counts);
  return {
    load: words(raw.load), tau: known(raw.tau), sentence: text(raw.sentence),
    // The sentence says it.
    verdict: { is: "no_pairs" },
    counts: {
      agree: number(counts.agree), disagree: number(counts.disagree),
      no_difference: number(counts.no_difference), too_few_rounds: number(counts.too_few_rounds),
      not_measured: number(counts.not_measured),
    },
    pairs: records<written.Pair>(raw.pairs).map((pair) => ({
      better: number(pair.better), worse: number(pair.worse),
      outcome: pair.outcome === "disagree" ? "disagree" : "agree", reason: words(pair.reason),
    })),
  };
}

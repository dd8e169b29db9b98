// Reads the two versions of a run, as `read.ts` reads the rest.

import type * as written from "./data.generated.ts";
import { isNumber, list, record, records, text, texts, type Raw } from "./raw.ts";

export function toVersions(raw: Raw<written.ComparedVersions>): written.ComparedVersions {
  return { base: text(raw.base), noise: texts(raw.noise), cases: records<written.VersionedCase>(raw.cases).map(toCase) };
}

function toCase(raw: Raw<written.VersionedCase>): written.VersionedCase {
  return {
    title: text(raw.title), sentence: text(raw.sentence), notes: texts(raw.notes),
    figures: records<written.VersionedFigure>(raw.figures).map(toFigure),
  };
}

function toFigure(raw: Raw<written.VersionedFigure>): written.VersionedFigure {
  const verdicts: written.Change[] = ["worse", "better", "equivalent", "inconclusive", "too_few_rounds"];
  return {
    title: text(raw.title), is_primary: raw.is_primary === true,
    base: text(raw.base), other: text(raw.other), change: text(raw.change), interval: text(raw.interval),
    result: text(raw.result), judged: verdicts.find((one) => one === raw.judged) ?? null,
    ratio: toEstimate(raw.ratio), noise: toEstimate(raw.noise), noise_text: text(raw.noise_text),
  };
}

function toEstimate(from: unknown): written.Estimate | null {
  const raw = record<written.Estimate>(from);
  if (!isNumber(raw.value)) return null;
  const [low, high] = list(raw.interval);
  const interval: [number, number] | null = isNumber(low) && isNumber(high) ? [low, high] : null;
  return { value: raw.value, interval, trials: isNumber(raw.trials) ? raw.trials : 0 };
}

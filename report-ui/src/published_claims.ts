// The claims of a publication: how many times, as it says, and as it was measured.

import type { ClaimCheck, ClaimComparison } from "./data.generated.ts";
import { h, s } from "./dom.ts";
import * as format from "./format.ts";

/** Two runtimes under one load. */
interface Row {
  label: string;
  claim: ClaimComparison;
  check: ClaimCheck;
}

const WIDTH = 640;
const NAMES = 250;
const FIGURES = 110;
const ROW = 30;
const BAR = 9;

export function claims(all: ClaimComparison[]): HTMLElement | null {
  if (all.length === 0) return null;
  const rows = all.flatMap((claim) => claim.checks.map((check) => ({ label: labelOf(claim, check), claim, check })));
  return h("section", { class: "block published" },
    h("h3", {}, "Claims of the text"),
    rows.length > 0 ? h("div", { class: "pairs" }, chart(rows)) : null,
    h("ul", {}, ...all.map((claim) => h("li", {},
      `${claim.runtime}: “${claim.text}”`,
      ...claim.sentences.map((sentence) => h("p", {}, sentence))))));
}

function labelOf(claim: ClaimComparison, { against, load }: ClaimCheck): string {
  return `${claim.runtime} ÷ ${against}${load ? ` · ${load}` : ""}`;
}

/** A band for the range that is claimed, and below it the measured interval, on one logarithmic axis. */
function chart(rows: Row[]): HTMLElement {
  const ends = rows.flatMap(({ claim, check }) =>
    [1, claim.times.least, claim.times.most, check.ratio, ...(check.interval ?? [])])
    .filter((value): value is number => typeof value === "number" && value > 0);
  // An open end of a claim goes on to the edge, which lies beyond all that is known.
  const least = Math.min(...ends) / 1.2;
  const most = Math.max(...ends) * 1.2;
  const room = WIDTH - NAMES - FIGURES;
  const at = (value: number) => NAMES + room * Math.log(Math.min(Math.max(value, least), most) / least) / Math.log(most / least);
  const bar = (y: number, from: number, to: number, kind: string) =>
    s("rect", { class: kind, x: at(from), y, width: Math.max(at(to) - at(from), 2), height: BAR, rx: 2 });
  const height = rows.length * ROW + 4;
  const drawn = rows.flatMap(({ label, claim, check }, place) => {
    const y = place * ROW + 4;
    const [low, high] = check.interval ?? [check.ratio, check.ratio];
    const measured = typeof low === "number" && typeof high === "number" ? bar(y + BAR + 2, low, high, "here") : null;
    const figure = typeof check.ratio === "number" ? format.ratio(check.ratio) : format.NONE;
    return [
      s("text", { class: "name", x: NAMES - 8, y: y + BAR + 4, "text-anchor": "end" }, shortened(label)),
      bar(y, claim.times.least ?? least, claim.times.most ?? most, "there"),
      measured,
      s("text", { class: "figure", x: WIDTH - FIGURES + 6, y: y + BAR - 1 }, `${claim.written} ×`),
      s("text", { class: "figure", x: WIDTH - FIGURES + 6, y: y + 2 * BAR + 2 }, figure),
    ];
  });
  const one = s("line", { class: "one", x1: at(1), x2: at(1), y1: 0, y2: height });
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "claimed and measured ratios" }, one, ...drawn);
  return h("figure", {},
    svg as unknown as HTMLElement,
    h("figcaption", {},
      "how many times · ", h("span", { class: "there" }, "claimed"), " ", h("span", { class: "here" }, "here, 95 % interval"),
      ", logarithmic; the line is 1"));
}

function shortened(label: string): string {
  return label.length > 40 ? `${label.slice(0, 39)}…` : label;
}

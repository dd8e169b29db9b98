// The working tree beside the other version of its apps: what changed, and the noise of the day.

import type { Estimate, VersionedCase, VersionedFigure, ComparedVersions } from "./data.generated.ts";
import { h, s, scroller } from "./dom.ts";
import * as format from "./format.ts";
import { place } from "./scale.ts";
import type { Store } from "./store.ts";

export function versions(store: Store): HTMLElement | null {
  const { versions: found } = store.page;
  if (!found) return null;
  const hasNoise = found.noise.length > 0;
  return h("section", { id: "versions", class: "versions", "aria-labelledby": "versions-title" },
    h("h2", { id: "versions-title" }, `Working tree against ${found.base}`),
    h("p", { class: "about" }, `Both were measured in the same rounds. A ratio is that of the working tree to ${found.base}.`,
      hasNoise ? ` ${found.base} was measured twice in each round: what differs between the two is noise.` : ""),
    ...found.cases.map((one) => caseOf(found, one, hasNoise)),
    hasNoise ? noiseOf(found) : null);
}

function noiseOf({ noise }: ComparedVersions): HTMLElement {
  const [head = "", ...lines] = noise;
  return h("div", { class: "noise" }, h("h3", {}, "Noise of the day"),
    h("p", {}, head.replace(/^Noise of the day: /, "")),
    lines.length > 0 ? h("ul", {}, ...lines.map((line) => h("li", {}, format.tied(line)))) : null);
}

function caseOf({ base }: ComparedVersions, one: VersionedCase, hasNoise: boolean): HTMLElement {
  const scale = scaleOf(one.figures);
  const heads = ["figure", base, "working tree", "ratio", "", "result", ...(hasNoise ? [`${base} again`] : [])];
  const head = (title: string) => title ? h("th", { scope: "col" }, title) : h("td", {}, "");
  const row = (figure: VersionedFigure) => h("tr", { class: figure.is_primary ? "primary" : null },
    h("th", { scope: "row" }, figure.title),
    h("td", {}, figure.base),
    h("td", {}, figure.other),
    h("td", {}, figure.change || format.NONE, figure.interval ? h("small", {}, figure.interval) : null),
    h("td", { class: "sketch" }, scale ? drawn(scale, figure) as unknown as Node : null),
    h("td", { class: tone(figure) }, figure.result),
    hasNoise ? h("td", {}, figure.noise_text || format.NONE) : null);
  const table = h("table", { class: "figures versions" },
    h("caption", { class: "hidden" }, `${one.title}: both versions`),
    h("thead", {}, h("tr", {}, ...heads.map(head))),
    h("tbody", {}, ...one.figures.map(row)));
  return h("div", { class: "panel" },
    h("h3", {}, one.title),
    h("p", { class: "sentence" }, format.tied(one.sentence)),
    scroller(`Figures of ${one.title} in both versions`, table),
    one.notes.length > 0 ? h("ul", { class: "facts" }, ...one.notes.map((note) => h("li", {}, format.tied(note)))) : null,
    scale ? key(hasNoise) : null);
}

function key(hasNoise: boolean): HTMLElement {
  const texts = ["The dot is the ratio, the line its 95 % interval, and the upright line is 1: no difference."];
  if (hasNoise) texts.push("The grey band is the interval of the noise: within it, a difference may be noise.");
  return h("p", { class: "key" }, texts.join(" "));
}

function tone({ judged }: VersionedFigure): string | null {
  if (judged === "worse") return "bad";
  return judged === "better" ? "strong" : judged === null ? "faint" : null;
}

interface Ends { low: number; high: number }

/** The scale of all ratios of a case: around 1, and wide enough for nearly all intervals. */
export function scaleOf(figures: Pick<VersionedFigure, "ratio" | "noise">[]): Ends | null {
  const all = figures.flatMap(({ ratio, noise }) => [ratio, noise]).filter((one): one is Estimate => !!one && one.value > 0);
  if (all.length === 0) return null;
  const ends = all.flatMap(({ value, interval }) => [value, ...(interval ?? [])]);
  const widest = Math.max(...ends.filter((end) => end > 0).map((end) => Math.abs(Math.log(end))));
  // An interval beyond four times is cut off: else one wide interval would hide all others.
  const reach = Math.min(Math.max(widest, Math.log(1.05)), Math.log(4)) * 1.05;
  return { low: Math.exp(-reach), high: Math.exp(reach) };
}

const HEIGHT = 22;

/** A figure's ratio with its interval, over the band of the noise. */
function drawn({ low, high }: Ends, { ratio, noise }: VersionedFigure): SVGElement {
  const at = (value: number) => `${place(value, low, high, true)}%`;
  const width = (from: number, to: number) => `${place(to, low, high, true) - place(from, low, high, true)}%`;
  const y = HEIGHT / 2;
  const parts: SVGElement[] = [];
  if (noise?.interval) {
    const [from, to] = noise.interval;
    parts.push(s("rect", { class: "noise-band", x: at(from), y: 2, width: width(from, to), height: HEIGHT - 4 }));
  }
  parts.push(s("line", { class: "rail", x1: "0%", x2: "100%", y1: y, y2: y }));
  parts.push(s("line", { class: "even", x1: at(1), x2: at(1), y1: 1, y2: HEIGHT - 1 }));
  if (ratio?.interval) {
    parts.push(s("line", { class: "span c0", x1: at(ratio.interval[0]), x2: at(ratio.interval[1]), y1: y, y2: y }));
  }
  if (ratio) parts.push(s("circle", { class: "dot c0", cx: at(ratio.value), cy: y, r: 4 }));
  return s("svg", { class: "dots", width: "100%", height: HEIGHT, "aria-hidden": "true" }, ...parts);
}

// One legend for all charts, with a switch for each runtime and, if there are several, for each
// run.

import { button, h } from "./dom.ts";
import { lookOfRun, stripe, swatch } from "./look.ts";
import type { Kind, Store } from "./store.ts";

interface Switch {
  element: HTMLButtonElement;
  kind: Kind;
  name: string;
}

export function legend(store: Store): HTMLElement {
  const runtimes = store.runtimes.map((name) => made(store, "runtime", name, name,
    store.isOverlay ? stripe(store.lookOf(name)) : swatch(store.look(name))));
  const runs = store.isOverlay
    ? store.page.runs.map((run, place) => made(store, "run", run.label, `run ${run.label}`, swatch(lookOfRun(place))))
    : [];
  const all = button("All", () => store.all(), { class: "quiet", "aria-label": "All lines on" });
  const update = () => {
    for (const { element, kind, name } of [...runtimes, ...runs]) {
      element.setAttribute("aria-pressed", String(store.isKindOn(kind, name)));
    }
    all.disabled = store.isAllOn();
  };
  store.listen((change) => {
    if (change === "lines") update();
  });
  update();
  const elements = [...runtimes, ...runs].map((one) => one.element);
  const gap = runs.length > 0 ? h("span", { class: "gap", "aria-hidden": "true" }) : null;
  return h("div", { class: "legend", role: "group", "aria-label": "Lines of all charts" },
    ...elements.slice(0, runtimes.length), gap, ...elements.slice(runtimes.length), all);
}

function made(store: Store, kind: Kind, name: string, words: string, sign: SVGElement): Switch {
  const what = kind === "run" ? "all lines of this run" : "this line";
  const element = h("button", {
    type: "button", class: "line-switch", "aria-pressed": true,
    title: `Switch ${what} on or off; with Shift: alone`,
  }, sign as unknown as Node, h("span", {}, words));
  element.addEventListener("click", (event) => (event.shiftKey ? store.only(kind, name) : store.flip(kind, name)));
  return { element, kind, name };
}

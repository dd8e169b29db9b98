// One legend for all charts: each runtime a switch.

import { button, h } from "./dom.ts";
import { swatch } from "./look.ts";
import type { Store } from "./store.ts";

export function legend(store: Store): HTMLElement {
  const switches = store.runtimes.map((runtime) => {
    const made = h("button", {
      type: "button", class: "line-switch", "aria-pressed": true,
      title: "Switch this line on or off; with Shift: it alone",
    }, swatch(store.look(runtime)) as unknown as Node, h("span", {}, runtime));
    made.addEventListener("click", (event) => (event.shiftKey ? store.only(runtime) : store.flip(runtime)));
    return made;
  });
  const all = button("All", () => store.all(), { class: "quiet", "aria-label": "All lines on" });
  const update = () => {
    store.runtimes.forEach((runtime, place) => {
      switches[place]?.setAttribute("aria-pressed", String(store.isOn(runtime)));
    });
    all.disabled = store.runtimes.every((runtime) => store.isOn(runtime));
  };
  store.listen((change) => {
    if (change === "lines") update();
  });
  update();
  for (const made of switches) made.setAttribute("aria-pressed", "true");
  return h("div", { class: "legend", role: "group", "aria-label": "Lines of all charts" }, ...switches, all);
}

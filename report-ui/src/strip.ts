// The line with the progress of a run, and whether the page is live. It stays when the rest of the
// page is made again, so that screen readers read it once and not each time.

import type { Connection } from "./events.ts";
import type { Progress } from "./data.generated.ts";
import type { Page } from "./data.ts";
import { h, withCode } from "./dom.ts";
import * as format from "./format.ts";

export class Strip {
  readonly element: HTMLElement;
  private readonly line = h("p", { class: "live-line" });
  private readonly bar = h("span", { class: "fill" });
  private readonly progress = h("div", { class: "bar", role: "progressbar", "aria-label": "Trials that ended", "aria-valuemin": 0 }, this.bar);
  /** For screen readers: changes when another trial begins, not each second. */
  private readonly told = h("p", { class: "hidden", "aria-live": "polite" });
  private readonly lost = h("p", { class: "connection", role: "status", hidden: true });

  constructor(label: string) {
    this.element = h("section", { class: "strip", "aria-label": label, hidden: true }, this.line, this.progress, this.told, this.lost);
    this.line.hidden = this.progress.hidden = true;
  }

  /** Shows the progress of the page's run. */
  show(page: Page): void {
    const { progress } = page;
    this.line.hidden = this.progress.hidden = progress === null;
    if (progress) this.fill(page, progress);
    this.settle();
  }

  private fill(page: Page, progress: Progress): void {
    const { ended, planned, under_way: now } = progress;
    const parts = partsOf(page, progress);
    this.line.replaceChildren(
      h("span", { class: "pulse", "aria-hidden": "true" }),
      h("strong", {}, parts[0] ?? ""),
      ...parts.slice(1).map((words) => h("span", {}, words)),
      h("span", { class: "seconds" }, now ? secondsWords(now.seconds) : ""));
    const share = planned > 0 ? Math.min(1, ended / planned) : 0;
    this.bar.style.setProperty("width", `${(share * 100).toFixed(2)}%`);
    this.progress.setAttribute("aria-valuemax", String(Math.max(planned, 1)));
    this.progress.setAttribute("aria-valuenow", String(ended));
    this.progress.setAttribute("aria-valuetext", `${ended} of ${format.numberOf(planned, "trial")} ended`);
    this.tell(parts.join(", "));
  }

  private tell(words: string): void {
    if (this.told.textContent !== words) this.told.textContent = words;
  }

  /** Shows the state of the connection. */
  connection(state: Connection): void {
    const words = {
      live: "",
      lost: "Not live any more: there is no connection to `stampede serve`. What is here stays, and it goes on by itself when the connection is back.",
      gone: "Not live any more: `stampede serve` sends nothing more to this page. What is here stays.",
      // If no last page has said that the run ended, its directory has disappeared.
      over: this.line.hidden ? "The run is over: this is all of it." : "Not live any more: nothing more will come. What is here stays.",
    }[state];
    this.element.classList.toggle("still", state !== "live");
    if (this.lost.textContent !== words.replaceAll("`", "")) this.lost.replaceChildren(...withCode(words));
    this.lost.hidden = words === "";
    this.settle();
  }

  private settle(): void {
    this.element.hidden = this.line.hidden && this.lost.hidden;
  }
}

/** `Trial 7 of 18`, then the trial's runtime, app and load. */
export function partsOf(page: Page, { ended, planned, under_way: now }: Progress): string[] {
  if (!now) return [`${ended} of ${format.numberOf(planned, "trial")} ended`];
  const entry = page.summary.cases[now.case];
  const trial = `Trial ${now.trial} of ${planned}`;
  return entry ? [trial, entry.runtime, `${entry.app} · ${entry.load}`] : [trial];
}

export function secondsWords(seconds: number): string {
  return seconds > 0 ? `${format.seconds(seconds)} of its load` : "starts, verifies and warms up";
}

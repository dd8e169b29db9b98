// Fingers on a chart over time: one finger moves a zoomed range or, without zoom, the cursor. Two
// fingers zoom. Up and down scrolls the page (`touch-action`).

import type uPlot from "uplot";
import type { Chart, Together } from "./chart.ts";
import { panned, pinched } from "./scale.ts";

export function followFingers(plot: uPlot, { together }: Chart): void {
  if (!together) return;
  const fingers = new Fingers(plot.over, together);
  plot.over.classList.add("touchable");
  plot.over.addEventListener("pointerdown", (event) => fingers.down(event));
  plot.over.addEventListener("pointermove", (event) => fingers.move(event));
  // The browser sends `pointercancel` when it starts to scroll.
  for (const end of ["pointerup", "pointercancel"] as const) {
    plot.over.addEventListener(end, (event) => fingers.up(event));
  }
}

class Fingers {
  /** The position of each finger, as a share of the chart's width. */
  private readonly at = new Map<number, number>();

  constructor(private readonly over: HTMLElement, private readonly together: Together) {}

  private share(event: PointerEvent): number {
    const { left, width } = this.over.getBoundingClientRect();
    return (event.clientX - left) / (width || 1);
  }

  down(event: PointerEvent): void {
    if (event.pointerType !== "touch" || this.at.size === 2) return;
    this.at.set(event.pointerId, this.share(event));
  }

  move(event: PointerEvent): void {
    const before = this.at.get(event.pointerId);
    if (before === undefined) return;
    const now = this.share(event);
    const other = [...this.at].find(([id]) => id !== event.pointerId)?.[1];
    this.at.set(event.pointerId, now);
    if (other !== undefined) this.pinch([other, before], [other, now]);
    else if (this.together.range()) this.pan(before - now);
    else this.point(event);
  }

  up(event: PointerEvent): void {
    this.at.delete(event.pointerId);
  }

  private pan(share: number): void {
    const { together } = this;
    const range = together.range();
    if (range) together.setRange(panned(range, together.whole(), share * (range[1] - range[0])));
  }

  private pinch(from: [number, number], to: [number, number]): void {
    const { together } = this;
    const whole = together.whole();
    together.setRange(pinched(together.range() ?? whole, whole, from, to));
  }

  /** Acts as a mouse would: the cursor of all charts follows. */
  private point({ clientX, clientY }: PointerEvent): void {
    this.over.dispatchEvent(new MouseEvent("mouseenter", { clientX, clientY }));
    this.over.dispatchEvent(new MouseEvent("mousemove", { clientX, clientY, bubbles: true }));
  }
}

// Remembers the reader's place before the page is made again, and restores it afterwards. Elements
// are identified by the names around them, because all elements are replaced.

const FOCUSABLE = "a[href], button, select, input, summary, [tabindex]";
const NAMED = "[id], [data-key]";

export interface Place {
  /** A part of the page that was on the screen, and its distance from the screen's top. */
  anchor: { key: string; top: number } | null;
  /** Details that were open. */
  open: Set<string>;
  /** Boxes that were scrolled. */
  scrolled: Map<string, [number, number]>;
  /** The heights of parts that are laid out only when they come near. */
  heights: Map<string, number>;
  /** The focused element: its name, and its number among elements of that name. */
  focus: { key: string; nth: number } | null;
}

export function placeOf(root: HTMLElement): Place {
  const boxes = all(root, ".scroll, pre").filter((box) => box.scrollLeft !== 0 || box.scrollTop !== 0);
  return {
    anchor: scrollY > 0 ? anchorOf(root) : null,
    open: new Set(all(root, "details[open]").map((one) => keyOf(one, root))),
    scrolled: new Map(boxes.map((box) => [keyOf(box, root), [box.scrollLeft, box.scrollTop]])),
    heights: new Map(all(root, ".block[id]").map((block) => [block.id, block.offsetHeight])),
    focus: focusOf(root),
  };
}

/** Step one of two, because charts are drawn between the steps: opens what was open. */
export function reopen(root: HTMLElement, place: Place): void {
  for (const block of all(root, ".block[id]")) {
    const height = place.heights.get(block.id);
    if (height) block.style.setProperty("contain-intrinsic-size", `auto ${height}px`);
  }
  for (const details of all(root, "details")) {
    if (!place.open.has(keyOf(details, root))) continue;
    (details as HTMLDetailsElement).open = true;
    // The browser sends this event later, but the content must exist before the page scrolls.
    details.dispatchEvent(new Event("toggle"));
  }
  scrollToAnchor(root, place);
}

/** Step two: restores scroll positions and the focus. */
export function resume(root: HTMLElement, place: Place): void {
  if (place.scrolled.size > 0) {
    for (const box of all(root, ".scroll, pre")) {
      const [left, top] = place.scrolled.get(keyOf(box, root)) ?? [0, 0];
      if (left || top) box.scrollTo({ left, top, behavior: "instant" });
    }
  }
  const { focus } = place;
  if (focus) {
    const same = all(root, FOCUSABLE).filter((one) => controlKey(one, root) === focus.key);
    (same[focus.nth] ?? same[0])?.focus({ preventScroll: true });
  }
  scrollToAnchor(root, place);
}

function scrollToAnchor(root: HTMLElement, { anchor }: Place): void {
  if (!anchor) return;
  const found = all(root, NAMED).find((one) => keyOf(one, root) === anchor.key);
  if (!found) return;
  scrollBy({ top: found.getBoundingClientRect().top - anchor.top, behavior: "instant" });
}

/** The named part that begins nearest to a line at a fifth of the screen's height. */
function anchorOf(root: HTMLElement): Place["anchor"] {
  const line = innerHeight / 5;
  let best: { element: HTMLElement; top: number } | null = null;
  for (const element of all(root, NAMED)) {
    const { top, height } = element.getBoundingClientRect();
    if (height === 0) continue;
    if (!best || Math.abs(top - line) < Math.abs(best.top - line)) best = { element, top };
  }
  return best && { key: keyOf(best.element, root), top: best.top };
}

function focusOf(root: HTMLElement): Place["focus"] {
  const { activeElement } = document;
  if (!(activeElement instanceof HTMLElement) || !root.contains(activeElement)) return null;
  const key = controlKey(activeElement, root);
  const same = all(root, FOCUSABLE).filter((one) => controlKey(one, root) === key);
  return { key, nth: Math.max(0, same.indexOf(activeElement)) };
}

/** The names of all parts around an element, and its own name. */
function keyOf(element: HTMLElement, root: HTMLElement): string {
  const names: string[] = [element.tagName];
  for (let at: HTMLElement | null = element; at && at !== root; at = at.parentElement) {
    const name = at.dataset.key ?? (at.id || at.getAttribute("aria-label"));
    if (name) names.push(name);
  }
  return names.join("\n");
}

function controlKey(element: HTMLElement, root: HTMLElement): string {
  const label = element.closest("label")?.querySelector("span")?.textContent;
  return `${label ?? element.getAttribute("aria-label") ?? element.textContent}\n${keyOf(element, root)}`;
}

function all(root: HTMLElement, selector: string): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(selector)];
}

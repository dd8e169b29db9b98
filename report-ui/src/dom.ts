// Creates elements. Data becomes text nodes and attributes here, never markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

/** Creates an element. `true` sets an attribute without a value; `undefined`, `null` and `false` set
 * none. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function s(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => !!child));
  return element;
}

/** Puts the words between pairs of backticks into `code` elements. */
export function withCode(text: string): (string | HTMLElement)[] {
  const parts = text.split("`");
  // A backtick without a partner marks nothing.
  const lone = parts.length % 2 === 0 ? `\`${parts.pop() ?? ""}` : "";
  const marked = parts.map((part, place) => place % 2 === 1 ? h("code", {}, part) : part);
  return lone ? [...marked, lone] : marked;
}

export function button(label: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = h("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

/** A select box with its label. */
export function choice(
  label: string, options: [string, string][], chosen: string, act: (value: string) => void,
): HTMLLabelElement {
  const select = h("select", {}, ...options.map(([value, words]) =>
    h("option", { value, selected: value === chosen }, words)));
  select.addEventListener("change", () => act(select.value));
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

/** A check box with its label. */
export function toggle(label: string, on: boolean, act: (on: boolean) => void): HTMLLabelElement {
  const box = h("input", { type: "checkbox", checked: on });
  box.addEventListener("change", () => act(box.checked));
  return h("label", { class: "toggle" }, box, h("span", {}, label));
}

/** A box that scrolls separately, with the keyboard too. */
export function scroller(label: string, ...children: Child[]): HTMLElement {
  return h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": label }, ...children);
}

/** A `details` element whose content is made when it is first opened. `data-key` is the name by
 * which the element is recognised when the page is made again. */
export function later(summary: string, make: () => Node, attributes: Attributes = {}): HTMLDetailsElement {
  const details = h("details", { "data-key": summary, ...attributes }, h("summary", {}, summary));
  const build = () => {
    if (details.open) {
      details.append(make());
      details.removeEventListener("toggle", build);
    }
  };
  details.addEventListener("toggle", build);
  return details;
}

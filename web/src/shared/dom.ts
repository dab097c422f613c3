/**
 * Elements made of names and text. Nothing here parses HTML, so a value can never become markup.
 */
const SVG = "http://www.w3.org/2000/svg";

export type Child = Node | string | number | false | null | undefined;

type Listener = (event: Event) => void;

/** Attributes by name; `on…` names take listeners, `true` sets an empty attribute, nothing is set for false or undefined. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined | Listener>>;

/** Make an HTML element. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[Name] {
  return fill(document.createElement(name), attributes, children);
}

/** Make an SVG element. */
export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[Name] {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Let something wide scroll on its own, also by keyboard, and say so where a part of it is out of sight. */
export function scroller(name: string, wide: Element): HTMLElement {
  const hint = h("p", { class: "wider", hidden: true }, "There is more to the right: scroll sideways, or use the arrow keys in the table.");
  const frame = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, wide);
  const observer = new ResizeObserver(() => {
    wide.classList.remove("cards");
    if (frame.scrollWidth > frame.clientWidth + 1) wide.classList.add("cards"); // a table that can be cards fits then
    hint.hidden = frame.scrollWidth <= frame.clientWidth + 1;
    frame.classList.toggle("cut", !hint.hidden);
  });
  observer.observe(frame);
  observer.observe(wide);
  return h("div", { class: "scroller" }, hint, frame);
}

/** Keep a name of somebody else from turning the words around it; signs in it that would do so are made visible. */
export function isolated(name: string): string {
  return /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/.test(name)
    ? `\u2068${name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd")}\u2069` : name;
}

/** Replace what an element contains. */
export function show(element: Element, ...children: Child[]): void {
  element.replaceChildren(...nodes(children));
}

/** Replace what an element contains; the focus stays with the control that stands where it was. */
export function redraw(element: Element, ...children: Child[]): void {
  const controls = (): HTMLElement[] => [...element.querySelectorAll<HTMLElement>("select, input, button")];
  const place = controls().indexOf(document.activeElement as HTMLElement);
  show(element, ...children);
  if (place >= 0) controls()[Math.min(place, controls().length - 1)]?.focus();
}

/** Return the element of an id that the page has. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no ${id}.`);
  return found;
}

/** Hand over a text as a file; nothing leaves the device. */
export function download(name: string, text: string | Blob, type = "application/json"): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // some browsers read it later
}

/** Run after a pause in which it was not called again. */
export function soon<Arguments extends unknown[]>(
  work: (...given: Arguments) => void, milliseconds: number,
): (...given: Arguments) => void {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => work(...given), milliseconds);
  };
}

function fill<Kind extends Element>(element: Kind, attributes: Attributes, children: readonly Child[]): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children: readonly Child[]): (Node | string)[] {
  return children
    .filter((child) => child !== false && child !== null && child !== undefined)
    .map((child) => child instanceof Node ? child : String(child));
}

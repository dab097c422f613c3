/** The person's own rows, as a form: read from a file or typed, held in memory, and nowhere else. */
import { type Child, h } from "../shared/dom.js";
import { type Attribute, domainText, rowsText, type Service } from "../shared/words.js";

export type Row = Record<string, unknown>;
export type Rows = readonly Row[];

/** Return a row with no values yet. */
export function emptyRow(service: Service): Row {
  return Object.fromEntries(service.attributes.map(({ name }) => [name, undefined]));
}

/** Return whether every value is there; only the client knows whether they are right. */
export function isComplete(rows: Rows): boolean {
  return rows.every((row) => Object.values(row).every((value) => value !== undefined && value !== ""));
}

export interface RowsView {
  readonly service: Service;
  readonly rows: Row[];
  /** Whether a report was drawn: then changing a row changes nothing any more. */
  readonly drawn: boolean;
  /** A value was typed. The page must not be redrawn: the button clicked to leave the field would be gone. */
  readonly onvalue: () => void;
  /** A row came or went. */
  readonly onchange: () => void;
}

/** Draw a service's rows. */
export function rowsView(view: RowsView): Child[] {
  const { service, rows, drawn, onchange } = view;
  const many = service.at_most !== undefined || service.optional === true;
  const removed = (index: number) => (): void => {
    rows.splice(index, 1);
    onchange();
  };
  return [
    ...rows.map((row, i) => h("fieldset", { class: "record" },
      many && h("legend", {}, `${service.name} ${i + 1}`),
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", {}, "Column"), h("th", {}, "Your value"), h("th", {}, "Sent as"))),
        h("tbody", {}, ...service.attributes.map((attribute) => valueRow(view, row, attribute, i)))),
      many && !drawn && h("button", { type: "button", onclick: removed(i) }, "Remove this row"))),
    !rows.length && h("p", { class: "soft" }, "You have no rows here. Your report looks like everybody else's."),
    many && !drawn && h("button", {
      type: "button",
      onclick: () => {
        rows.push(emptyRow(service));
        onchange();
      },
    }, "Add a row"),
    h("p", {}, h("small", {}, rowsText(service))),
  ];
}

function valueRow({ service, drawn, onvalue, onchange }: RowsView, row: Row, attribute: Attribute, place: number): HTMLElement {
  const { name, kind } = attribute;
  const id = `${service.name}-${place}-${name}`;
  const withheld = row[name] === null;
  const input = field(attribute, id, row[name], drawn || withheld);
  input.dataset["column"] = JSON.stringify([service.name, name]);
  input.addEventListener("input", () => {
    const { value } = input;
    row[name] = value === "" ? undefined : isNumber(attribute) ? Number(value) : value;
    onvalue();
  });
  const withhold = attribute.null && h("label", {}, h("input", {
    type: "checkbox", checked: withheld, disabled: drawn,
    onchange: () => {
      row[name] = withheld ? undefined : null;
      onchange();
    },
  }), " leave empty");
  return h("tr", {},
    h("th", { scope: "row" }, h("label", { for: id }, name)),
    h("td", {}, input, withhold && h("br"), withhold, h("br"), h("small", {}, domainText(attribute))),
    h("td", {}, kind === "public" ? h("span", { class: "badge" }, "unchanged")
      : h("span", { class: "badge good" }, "perturbed")));
}

function field(attribute: Attribute, id: string, value: unknown, disabled: boolean): HTMLInputElement | HTMLSelectElement {
  const now = value === undefined || value === null ? "" : String(value);
  if (attribute.kind === "categorical" && attribute.values) {
    return h("select", { id, disabled },
      h("option", { value: "", selected: now === "" }, "choose"),
      ...attribute.values.map((one) => h("option", { value: one, selected: String(one) === now }, one)));
  }
  if (/public|categorical/.test(attribute.kind)) return h("input", { id, value: now, disabled });
  const { low, high, kind } = attribute;
  const type = kind === "date" ? "date" : "number";
  const limits = attribute.outside === "clamp" ? {} : { min: low, max: high };
  return h("input", { id, type, value: now, disabled, step: "any", ...limits });
}

function isNumber({ kind, values }: Attribute): boolean {
  return kind === "ordinal" || (kind === "categorical" && typeof values?.[0] === "number");
}

/** Read rows from a file of the person's: services by name, each with a row or a list of rows; others stay as they are. */
export async function rowsOfFile(file: File, services: readonly Service[]): Promise<Record<string, Row[]>> {
  const data = JSON.parse(await file.text()) as Record<string, Row | Row[]>;
  return Object.fromEntries(services.filter(({ name }) => data[name]).map((service) => {
    const given = data[service.name]!;
    const known = (row: Row): Row =>
      Object.fromEntries(service.attributes.map(({ name }) => [name, row[name]]));
    return [service.name, (Array.isArray(given) ? given : [given]).map(known)];
  }));
}

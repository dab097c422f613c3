/** Take a question or an answer elsewhere: as an address, SQL, Python or curl, as CSV, JSON, SVG or PNG. */
import { download, h, show } from "../shared/dom.js";
import { menu } from "./conditions.js";
import { type Answer, rowFinder } from "./model.js";
import type { Question } from "./state.js";
import { missing } from "./verdict.js";


const LANGUAGES: Readonly<Record<string, (asked: Question) => string>> = {
  SQL: ({ sql }) => sql,
  Python: ({ sql, confidence }) => `import json, urllib.request

question = """${sql.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"').replace(/"$/, '\\"')}"""
body = {"tacit": 1, "sql": question, "confidence": ${confidence}}  # and "key", if this collector needs one
request = urllib.request.Request("${location.origin}/v1/query", json.dumps(body).encode())
for row in json.load(urllib.request.urlopen(request))["rows"]:
    print(row)
`,
  curl: ({ sql, confidence }) => `curl --silent --data @- '${location.origin}/v1/query' <<'END'
${JSON.stringify({ tacit: 1, sql, confidence }, null, 1)}
END
`,
};

/** Draw the panel that shows the question in a language, with a button to copy it. */
export function codePanel(asked: () => Question): { element: HTMLElement; refresh: () => void } {
  let language = "SQL";
  const shown = h("pre", { id: "code", tabindex: 0, "aria-label": "The question as code" });
  const refresh = (): void => show(shown, LANGUAGES[language]!(asked()));
  const said = h("span", { class: "soft", role: "status" });
  const element = h("details", { class: "code" }, h("summary", {}, "Copy as SQL, Python or curl"),
    h("div", { class: "row" },
      menu(Object.keys(LANGUAGES).map((name) => [name, name]), language, (name) => { language = name; refresh(); }, "Language"),
      copyButton("Copy", () => LANGUAGES[language]!(asked()), said), said),
    shown);
  return { element, refresh };
}

/** A button that copies a text and says so. */
export function copyButton(name: string, text: () => string, said: HTMLElement): HTMLButtonElement {
  return h("button", {
    type: "button", onclick: async () => {
      try {
        await navigator.clipboard.writeText(text());
        show(said, "Copied.");
      } catch {
        show(said, "This browser does not let pages copy. Select the text and copy it yourself.");
      }
      setTimeout(() => show(said), 4000);
    },
  }, name);
}

/** Return an answer as CSV, with fitted values if there are any; texts that a spreadsheet would run as formulas are quoted. */
export function asCsv({ columns, estimates, rows }: Answer, fitted: Answer | null): string {
  const names = columns.flatMap((name) => estimates.includes(name) ? [name, `${name}_error`, `${name}_low`, `${name}_high`, `${name}_max_shift_per_1pct`] : [name]);
  const model = fitted ? estimates.flatMap((name) => ["", "_error", "_low", "_high"].map((end) => [`${name}_fitted${end}`, `${name}${end}`] as const)) : [];
  const find = fitted && rowFinder(columns.filter((name) => !estimates.includes(name)), fitted.rows, (row, name) => row[name]);
  const cell = (value: unknown): string => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = rows.map((row) => [...names.map((name) => row[name]), ...model.map(([, name]) => find!(row)?.[name])]);
  return [[...names, ...model.map(([title]) => title)], ...lines].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Return an answer as JSON: the question, its notes and every row, with whether all rows are there. */
export function asJson(answer: Answer, { sql, confidence }: Question): string {
  const { rows, notes } = answer;
  return `${JSON.stringify({ sql, confidence, complete: missing(answer) === 0, notes, rows }, null, 1)}\n`;
}

const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "opacity", "font-family", "font-size"];

/** Return a chart as a picture that stands alone: colours of the page become attributes, and it names its question. */
export function asSvg(chart: SVGSVGElement, { sql, confidence }: Question): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const [from, to] = [chart, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from!.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of STYLED) {
      const value = style.getPropertyValue(name);
      if (value && !(name === "fill" && value.startsWith("url"))) to![i]!.setAttribute(name, value);
    }
  });
  const { width, height } = chart.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const paper = getComputedStyle(document.body.querySelector(".card") ?? document.body).backgroundColor;
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width, height, fill: paper })) back.setAttribute(name, String(value));
  const told = document.createElementNS("http://www.w3.org/2000/svg", "desc");
  told.textContent = `${sql} -- intervals at ${confidence}`;
  copy.prepend(told, back);
  return new XMLSerializer().serializeToString(copy);
}

/** Draw a picture at twice its size and hand it over. */
export async function savePng(svg: string, name: string): Promise<void> {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = h("canvas", { width: 2 * image.width, height: 2 * image.height });
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    const made = await new Promise<Blob | null>((done) => { canvas.toBlob(done); });
    if (made) download(name, made, "image/png");
  } finally {
    URL.revokeObjectURL(address);
  }
}

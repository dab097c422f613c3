/**
 * The canonical writing of a contract, and the members and types of every object in it: see docs/wire.md.
 */
import { needContract } from "./errors.js";
import { isWhole } from "./whole.js";

/** Return canonical JSON; a number or text that has none becomes nothing, which no JSON text has in its place. */
export function canonical(value: unknown, depth = 0): string {
  needContract(depth <= 16, "not-json");
  if (typeof value === "string") return isText(value) ? JSON.stringify(value) : "";
  if (typeof value === "number") return isWhole(value, -(2 ** 53), 2 ** 53) ? `${value}` : "";
  if (typeof value !== "object" || value === null) return String(value);
  const list = Array.isArray(value);
  const items = Object.entries(value)
    .map(([name, item]) => (list ? "" : `${canonical(name)}: `) + canonical(item, depth + 1));
  const [start, end] = list ? "[]" : "{}";
  const line = `\n${" ".repeat(depth)}`;
  return depth < 4 && items.length && (!list || isObject(value[0]))
    ? start + items.map((item) => `${line} ${item}`).join() + line + end
    : start + items.join(", ") + end;
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** Lone surrogates have no bytes that all languages agree on. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && !/[\ud800-\udfff]/u.test(value); // with u, only lone surrogates match
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const OPTIONS = "fanout:number cells?:number dither?:boolean outside?:clamp null?:true";

/**
 * The members of every object, in order, text if no type is given: `?` may be absent, `!` may be there in version 2,
 * `~` may be absent in version 2; `*` is a list, `+` one that is not empty.
 */
const TABLE: Readonly<Record<string, string>> = {
  contract: "tacit:number round tier? panel! rounds!:number reports!:number assigned!:true epsilon mechanism oracle draw_bits:number " +
    "services:service+",
  service: "name key at_most?:number sends?:number optional?:true attributes:kind+ layout why? " +
    "levels:level+ derived?:derived+ channels:channel+",
  ordinal: `name kind low:decimal high:decimal step:decimal ${OPTIONS}`,
  date: `name kind low:date high:date step:number ${OPTIONS}`,
  categorical: "name kind values~:scalar+ dictionary! size!:number other?:scalar fanout!:number null?:true",
  public: "name kind values!:scalar+ type! null!:true",
  level: "ticks?:number count:number widths:number* offsets!:number+ starts!:number++",
  channel: "name epsilon draws:number codes:number views:views weights!:number+ by_domain:{oracle} otherwise:lh?",
  views: "product?:number++ list?:number*+ parities?:number",
  grr: "oracle flip:number",
  ss: "oracle w:number inside:number outside:number",
  olh: "oracle g:number flip:number",
  oue: "oracle one:number zero:number",
  lh: "oracle g:number flip:number multipliers:{number}",
};

const KINDS: Readonly<Record<string, readonly string[]>> = {
  kind: ["ordinal", "date", "categorical", "public"], oracle: ["grr", "ss", "olh", "oue"], "lh?": ["lh"],
};

const RESERVED = "panel rounds reports questions ratios partitions dictionary size starts probabilities steps assigned".split(" ");

const isScalar = (value: unknown): boolean => /^(number|string)$/.test(typeof value);

/** Types that `typeof` does not name. */
const TYPES: Readonly<Record<string, (value: unknown) => unknown>> = {
  true: (value) => value === true,
  clamp: (value) => value === "clamp",
  scalar: isScalar,
  decimal: (value) => typeof value === "number" || (isScalar(value) && /^-?(0|[1-9]\d{0,15})\.\d{0,39}[1-9]$/.test(value as string)),
  date: (value) => !Number.isNaN(daysOf(value)),
  derived: (value) => Array.isArray(value) && `${value.map((item) => typeof item)}` === "number,string",
};

/** Check a value by the table, from the top down and in the order of members. */
export function checkMembers(value: unknown, type: string, version: number): void {
  const last = type.at(-1)!;
  const rest = type.slice(0, -1);
  if (last === "*" || last === "+") {
    needContract(Array.isArray(value), "wrong-type");
    needContract(value.length || last === "*", "empty");
    for (const item of value) checkMembers(item, rest, version);
  } else if (TYPES[type] ?? /^(number|string|boolean)$/.test(type)) {
    needContract(TYPES[type]?.(value) ?? typeof value === type, "wrong-type");
  } else {
    if (last === "?" && value === null) return;
    needContract(isObject(value), "wrong-type");
    if (last === "}") {
      for (const item of Object.values(value)) checkMembers(item, rest.slice(1), version);
    } else {
      let kind = type;
      if (KINDS[type]) {
        kind = value[type === "kind" ? type : "oracle"] as string;
        needContract(version < 2 || (kind !== "boolean" && kind !== "timestamp"), "reserved");
        needContract(KINDS[type].includes(kind), "unknown-kind");
      }
      checkObject(value, kind, version);
    }
  }
}

function checkObject(value: Record<string, unknown>, type: string, version: number): void {
  const fields = TABLE[type]!.split(" ").filter((field) => version > 1 || !field.includes("!"))
    .map((field) => field.split(":") as [string, string?]);
  const names = fields.map(([name]) => name.replace(/\W/, ""));
  const has = (name: string): boolean => Object.hasOwn(value, name);
  for (const name of Object.keys(value)) {
    needContract(names.includes(name), version > 1 && RESERVED.includes(name) ? "reserved" : "unknown-member");
  }
  const together = [["at_most", "sends"], ["cells", "dither"], ["panel", "rounds"], ["rounds", "reports"], ["dictionary", "size"]]
    .every(([one, other]) => has(one!) === has(other!));
  needContract(together && fields.every(([name], i) => (version > 1 ? /\W/ : /\?/).test(name) || has(names[i]!)), "missing-member");
  needContract(`${Object.keys(value)}` === `${names.filter(has)}`, "not-canonical");
  fields.forEach(([, inner = "string"], i) => {
    if (has(names[i]!)) checkMembers(value[names[i]!], inner, version);
  });
}

/** Return the days from 1970-01-01 to a date such as 2026-11-15; NaN for anything else. */
export function daysOf(value: unknown): number {
  if (typeof value !== "string" || !/^(?!0000)\d{4}-\d\d-\d\d$/.test(value)) return NaN;
  const days = Date.parse(`${value}T00:00:00Z`) / 86_400_000;
  return Number.isNaN(days) || dateOf(days) !== value ? NaN : days;
}

export function dateOf(days: number): string {
  return new Date(days * 86_400_000).toISOString().slice(0, 10);
}

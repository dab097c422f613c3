/**
 * The canonical writing of a contract, and the members and types of every object in it: see docs/wire.md.
 */
import { needContract } from "./errors.js";

/** Return canonical JSON; a number or text that has none becomes nothing, which no JSON text has in its place. */
export function canonical(value: unknown, depth = 0): string {
  needContract(depth <= 16, "not-json");
  if (typeof value === "string") return isText(value) ? JSON.stringify(value) : "";
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) <= 2 ** 53 ? `${value}` : "";
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

/** Lone surrogates have no bytes that all languages agree on. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && !/[\ud800-\udfff]/u.test(value); // with u, only lone surrogates match
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const OPTIONS = "fanout:int cells?:int dither?:bool outside?:clamp null?:true";

/** The members of every object, in order: `?` may be absent, `*` is a list, `+` a list that is not empty. */
const TABLE: Readonly<Record<string, string>> = {
  contract: "tacit:int round:text tier?:text epsilon:text mechanism:text oracle:text draw_bits:int services:service+",
  service: "name:text key:text at_most?:int sends?:int optional?:true attributes:kind+ layout:text why?:text " +
    "levels:level+ derived?:derived+ channels:channel+",
  ordinal: `name:text kind:text low:number high:number step:number ${OPTIONS}`,
  date: `name:text kind:text low:date high:date step:int ${OPTIONS}`,
  categorical: "name:text kind:text values:scalar+ other?:scalar null?:true",
  public: "name:text kind:text",
  public2: "name:text kind:text values?:scalar+ type?:text null?:true",
  level: "ticks?:int count:int widths:int*",
  channel: "name:text epsilon:text draws:int codes:int views:views by_domain:{oracle} otherwise:lh?",
  views: "product?:int++ list?:int*+ parities?:int",
  grr: "oracle:text flip:int",
  ss: "oracle:text w:int inside:int outside:int",
  olh: "oracle:text g:int flip:int",
  oue: "oracle:text one:int zero:int",
  lh: "oracle:text g:int flip:int multipliers:{int}",
};

const KINDS: Readonly<Record<string, readonly string[]>> = {
  kind: ["ordinal", "date", "categorical", "public"], oracle: ["grr", "ss", "olh", "oue"], "lh?": ["lh"],
};

const RESERVED = "panel rounds reports questions ratios partitions dictionary probabilities steps assigned".split(" ");

const isInt = (value: unknown): boolean => typeof value === "number";
const isString = (value: unknown): boolean => typeof value === "string";

const SIMPLE: Readonly<Record<string, (value: unknown) => unknown>> = {
  int: isInt,
  text: isString,
  bool: (value) => typeof value === "boolean",
  true: (value) => value === true,
  clamp: (value) => value === "clamp",
  scalar: (value) => isInt(value) || isString(value),
  number: (value) => isInt(value) || (isString(value) && /^-?(0|[1-9]\d{0,15})\.\d{0,39}[1-9]$/.test(value as string)),
  date: (value) => !Number.isNaN(daysOf(value)),
  derived: (value) => Array.isArray(value) && value.length === 2 && isInt(value[0]) && isString(value[1]),
};

/** Check a value by the table, from the top down and in the order of members. */
export function checkMembers(value: unknown, type: string, version: number): void {
  const [last, rest] = [type.at(-1)!, type.slice(0, -1)];
  if (last === "*" || last === "+") {
    needContract(Array.isArray(value), "wrong-type");
    needContract(value.length || last === "*", "empty");
    for (const item of value) checkMembers(item, rest, version);
  } else if (SIMPLE[type]) {
    needContract(SIMPLE[type](value), "wrong-type");
  } else if (last === "}") {
    needContract(isObject(value), "wrong-type");
    for (const item of Object.values(value)) checkMembers(item, rest.slice(1), version);
  } else if (KINDS[type]) {
    if (last === "?" && value === null) return;
    needContract(isObject(value), "wrong-type");
    const kind = value[type === "kind" ? type : "oracle"] as string;
    needContract(version < 2 || (kind !== "boolean" && kind !== "timestamp"), "reserved");
    needContract(KINDS[type].includes(kind), "unknown-kind");
    checkObject(value, kind === "public" && version > 1 ? "public2" : kind, version);
  } else {
    checkObject(value, type, version);
  }
}

function checkObject(value: unknown, type: string, version: number): void {
  needContract(isObject(value), "wrong-type");
  const fields = TABLE[type]!.split(" ").map((field) => field.split(":") as [string, string]);
  const names = fields.map(([name]) => name.replace("?", ""));
  const has = (name: string): boolean => Object.hasOwn(value, name);
  for (const name of Object.keys(value)) {
    needContract(names.includes(name), version > 1 && RESERVED.includes(name) ? "reserved" : "unknown-member");
  }
  const together = has("at_most") === has("sends") && has("cells") === has("dither");
  needContract(together && fields.every(([name]) => name.endsWith("?") || has(name)), "missing-member");
  needContract(`${Object.keys(value)}` === `${names.filter(has)}`, "not-canonical");
  fields.forEach(([, inner], i) => {
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

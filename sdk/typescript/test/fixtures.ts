/** What `fixtures/make.py` wrote: contracts, exact channels, digests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Row } from "../src/interpreter.js";

function load<T>(name: string): T {
  return JSON.parse(readFileSync(join(process.cwd(), "test/fixtures", `${name}.json`), "utf8")) as T;
}

export interface Published {
  readonly id: string;
  readonly contract: string;
}

export const collections = load<Record<"november" | "december" | "wide" | "generous" | "derived" | "tight", Published>>("collections");
export const channels = load<Record<string, { contract: string; rows: Row[]; counts: number[][] }>>("channels");
export const streams = load<Record<string, string>>("streams");
export const canaries = load<string[]>("canaries");

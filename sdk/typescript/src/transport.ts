/**
 * One request to the collector, and what its answer means. `PROTOCOL.md` states the rules.
 *
 * Bodies are `text/plain`: so browsers ask no permission first, and a closing page's beacon is the same request.
 */
import { CollectorError } from "./errors.js";

export const PLAIN_TEXT = "text/plain;charset=UTF-8";

/** Longest wait that a collector can ask for, in milliseconds. */
const LONGEST_WAIT = 3_600_000;

const WORD = /^[a-z0-9-]{1,64}$/;

/** What came of a request: its answer; or a problem, and how long to wait if trying again later may help. */
export interface Outcome {
  readonly answer?: unknown;
  readonly problem?: CollectorError;
  readonly wait?: number;
}

export async function post(url: string, body: string, timeout: number): Promise<Outcome> {
  const options = { method: "POST", body, headers: { "content-type": PLAIN_TEXT } };
  try {
    const response = await request(url, options, timeout);
    if (response.ok) return { answer: await response.json() };
    const problem = await problemOf(response);
    const { status } = response;
    if (status < 500 && status !== 429 && status !== 408) return { problem };
    const wait = Number(response.headers.get("retry-after")) * 1000;
    return { problem, wait: wait > 0 ? Math.min(wait, LONGEST_WAIT) : 0 };
  } catch {
    return { problem: await unreachable(url, timeout), wait: 0 };
  }
}

/** Return the bytes of a contract; the caller compares their hash. */
export async function fetchBytes(url: string, timeout: number): Promise<Uint8Array<ArrayBuffer>> {
  let response: Response;
  try {
    response = await request(url, {}, timeout);
    if (response.ok) return new Uint8Array(await response.arrayBuffer());
  } catch {
    throw await unreachable(url, timeout);
  }
  throw await problemOf(response);
}

/** No cookies, no referrer, no redirect: a key goes where it was meant to go, and nothing else goes along. */
function request(url: string, options: RequestInit, timeout: number): Promise<Response> {
  return fetch(url, {
    credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store",
    signal: AbortSignal.timeout(timeout), ...options,
  });
}

async function problemOf(response: Response): Promise<CollectorError> {
  const { status } = response;
  const { code, detail } = Object(await response.json().catch(() => null)) as { code?: unknown; detail?: unknown };
  const facts = typeof detail === "string" ? detail.slice(0, 200) : status;
  return Object.assign(new CollectorError(wordOf(code) ?? `http-${status}`, facts), { status });
}

/** Return a word that the collector chose; nothing else of it reaches a wallet. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && WORD.test(value) ? value : undefined;
}

/** Browsers hide from a page why a request failed. One whose answer stays hidden tells whether the collector is there. */
async function unreachable(url: string, timeout: number): Promise<CollectorError> {
  const origin = globalThis.location?.origin;
  if (origin && origin !== new URL(url).origin) {
    const there = await request(url, { mode: "no-cors", redirect: "follow" }, timeout).then(() => true, () => false);
    if (there) return new CollectorError("wrong-origin", origin);
  }
  return new CollectorError("unreachable");
}

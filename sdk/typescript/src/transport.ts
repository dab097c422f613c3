/**
 * One request to the collector, and what its answer means. `PROTOCOL.md` states the rules.
 *
 * Bodies are `text/plain`: so browsers ask no permission first, and a closing page's beacon is the same request.
 */
import { CollectorError } from "./errors.js";

export const PLAIN_TEXT = "text/plain;charset=UTF-8";

/** Longest wait that a collector can ask for, in milliseconds. */
const LONGEST_WAIT = 3_600_000;

/** Bytes of an answer, and of a dictionary's file, that are read at most. */
const MOST_BYTES = 2 ** 20;
const LARGEST_FILE = 2 ** 26;

type Bytes = Uint8Array<ArrayBuffer>;

const WORD = /^[a-z0-9-]{1,64}$/;

/** What came of a request: its answer; or a problem, and how long to wait if trying again later may help. */
export interface Outcome {
  readonly answer?: unknown;
  readonly problem?: CollectorError;
  readonly wait?: number;
}

/** Send a text and read the JSON that answers it. */
export const post = (url: string, body: string, timeout: number): Promise<Outcome> =>
  exchange(url, { method: "POST", body, headers: { "content-type": PLAIN_TEXT } }, timeout, "json", MOST_BYTES);

/** Return a contract or a dictionary; the caller compares its hash. */
export async function fetchText(url: string, timeout: number): Promise<string> {
  const { answer, problem } = await exchange(url, {}, timeout, "text", LARGEST_FILE);
  if (problem) throw problem;
  return answer as string;
}

/** Make a request and read at most so many bytes of what answers it: no collector fills a device's memory. */
async function exchange(
  url: string, options: RequestInit, timeout: number, form: "json" | "text", left: number,
): Promise<Outcome> {
  try {
    const whole = await request(url, options, timeout);
    const limit = new TransformStream<Bytes, Bytes>({
      transform(piece, out) {
        if ((left -= piece.length) < 0) throw left;
        out.enqueue(piece);
      },
    });
    const response = new Response(whole.body?.pipeThrough(limit), whole);
    if (response.ok) return { answer: await response[form]() };
    const { status } = response;
    const { code, detail } = Object(await response.json().catch(() => null)) as { code?: unknown; detail?: unknown };
    const facts = typeof detail === "string" ? detail.slice(0, 200) : status;
    const problem = Object.assign(new CollectorError(wordOf(code) ?? `http-${status}`, facts), { status });
    if (status < 500 && ![408, 429].includes(status)) return { problem };
    return { problem, wait: Math.min(1000 * Number(response.headers.get("retry-after")) || 0, LONGEST_WAIT) };
  } catch {
    return { problem: await unreachable(url, timeout), wait: 0 };
  }
}

/** No cookies, no referrer, no redirect: a key goes where it was meant to go, and nothing else goes along. */
function request(url: string, options: RequestInit, timeout: number): Promise<Response> {
  return fetch(url, {
    credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store",
    signal: AbortSignal.timeout(timeout), ...options,
  });
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

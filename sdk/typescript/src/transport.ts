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

/** What to do after a request: take its results; try later, in smaller parts, or never; or wait for a change. */
export type Outcome =
  | { readonly kind: "done"; readonly answer: unknown }
  | { readonly kind: "later"; readonly problem: CollectorError; readonly wait: number }
  | { readonly kind: "smaller" | "never" | "denied"; readonly problem: CollectorError };

export async function post(url: string, body: string, timeout: number): Promise<Outcome> {
  const options = { method: "POST", body, headers: { "content-type": PLAIN_TEXT } };
  try {
    const response = await request(url, options, timeout);
    if (response.ok) return { kind: "done", answer: await response.json() };
    const problem = await problemOf(response);
    const { status } = response;
    if (status >= 500 || status === 429 || status === 408) {
      const wait = Number(response.headers.get("retry-after") ?? 0) * 1000;
      return { kind: "later", problem, wait: wait > 0 ? Math.min(wait, LONGEST_WAIT) : 0 };
    }
    return { kind: status === 413 ? "smaller" : status === 410 ? "never" : "denied", problem };
  } catch {
    return { kind: "later", problem: await unreachable(url, timeout), wait: 0 };
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
  const problem = await response.json().catch(() => null) as { code?: unknown; detail?: unknown } | null;
  const code = typeof problem?.code === "string" && WORD.test(problem.code) ? problem.code : `http-${response.status}`;
  const detail = typeof problem?.detail === "string" ? problem.detail.slice(0, 200) : `status ${response.status}`;
  return new CollectorError(`The collector refused: ${detail}`, code, response.status);
}

/** Browsers hide from a page why a request failed. One whose answer stays hidden tells whether the collector is there. */
async function unreachable(url: string, timeout: number): Promise<CollectorError> {
  const origin = globalThis.location?.origin;
  if (origin && origin !== new URL(url).origin) {
    const there = await request(url, { mode: "no-cors", redirect: "follow" }, timeout).then(() => true, () => false);
    if (there) {
      const words = `The collector answers, but not pages of ${origin} (CORS): it needs a key with --origin ${origin}.`;
      return new CollectorError(`${words} Reports are kept.`, "wrong-origin");
    }
  }
  return new CollectorError("The collector did not answer. Reports are kept.", "unreachable");
}

/** Return the statuses of a batch in its order, or undefined if the answer is not about this batch. */
export function statusesOf(answer: unknown, count: number): { status: string; code?: string }[] | undefined {
  const statuses = (answer as { statuses?: unknown } | null)?.statuses;
  if (!Array.isArray(statuses) || statuses.length !== count) return undefined;
  return statuses.map((one: { status?: unknown; code?: unknown } | null) => ({
    status: String(one?.status),
    ...(typeof one?.code === "string" && WORD.test(one.code) ? { code: one.code } : {}),
  }));
}

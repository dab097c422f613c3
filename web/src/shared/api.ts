/** Requests to the collector that served the page. Its errors are problem+json, and become `Problem`. */

/** What the collector, or the way to it, says is wrong; `span` is where in the SQL. */
export class Problem extends Error {
  constructor(
    readonly code: string, readonly detail: string, readonly status = 0, readonly span?: readonly [number, number],
  ) {
    super(detail);
  }
}

/** A published collection, as the collector lists it. */
export interface Listed {
  readonly id: string;
  readonly round: string;
  readonly tier: string;
  readonly epsilon: number;
  readonly services: readonly string[];
  /** Of a rotating panel: its name, and the ids of its rounds. */
  readonly panel?: string;
  readonly rounds?: readonly string[];
}

/** A sample person of the demo, whose rows are shipped with it. */
export interface SamplePerson {
  readonly person: string;
  readonly name: string;
  readonly rows: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
}

export interface Question {
  readonly title: string;
  readonly sql: string;
}

/** What `GET /demo` says: the rest is there only if this is a demo. */
export interface Demo {
  readonly demo: boolean;
  /** Raw rows of each service. */
  readonly loaded?: Readonly<Record<string, number>>;
  readonly people?: readonly SamplePerson[];
  readonly questions?: readonly Question[];
}

export async function get<Answer>(path: string, key = ""): Promise<Answer> {
  return read<Answer>(await reach(path, key ? { headers: { Authorization: `Bearer ${key}` } } : {}));
}

/** Fetch a file as it is. */
export async function getBytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await reach(path, {});
  return response.ok ? new Uint8Array(await response.arrayBuffer()) : read(response);
}

/** Send an object; the protocol's version is added, and the key if there is one. */
export async function post<Answer>(path: string, body: object, signal?: AbortSignal): Promise<Answer> {
  const text = JSON.stringify({ tacit: 1, ...body });
  return read<Answer>(await reach(path, { method: "POST", body: text, ...(signal ? { signal } : {}) }));
}

export const collections = async (): Promise<readonly Listed[]> =>
  (await get<{ collections: readonly Listed[] }>("/v1/collections")).collections;

export const demo = (): Promise<Demo> => get<Demo>("/demo");

/** Return a reply, or what is wrong with it; nobody awaits what was cancelled. */
export async function replyOf<Answer>(asked: Promise<Answer>): Promise<Answer | Problem> {
  try {
    return await asked;
  } catch (cause) {
    if (cause instanceof Problem) return cause;
    if (cause instanceof DOMException) return new Problem("cancelled", "Another question was asked before this was answered.");
    throw cause;
  }
}

async function reach(path: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "omit", cache: "no-cache", ...options });
  } catch {
    options.signal?.throwIfAborted();
    throw new Problem("unreachable", "The collector cannot be reached. Nothing was lost; try again.");
  }
}

async function read<Answer>(response: Response): Promise<Answer> {
  let data: unknown;
  try {
    data = await response.json();
  } catch (cause) {
    if (cause instanceof DOMException) throw cause; // it was cancelled on the way
    throw new Problem("bad-answer", response.ok ? "The collector's answer cannot be read."
      : `The collector cannot answer now (status ${response.status}). Try again in a moment.`, response.status);
  }
  if (response.ok) return data as Answer;
  const { code = "refused", detail = "The collector refused.", span } = (data ?? {}) as Partial<Problem>;
  throw new Problem(code, detail, response.status, span);
}

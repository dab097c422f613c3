/** A collector on loopback that follows PROTOCOL.md and fails as it is told: real sockets, no mocked fetch. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { collections, type Published } from "./fixtures.js";

interface Report {
  readonly person: unknown;
  readonly service: string;
  readonly slot: number;
  readonly codes: number[];
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly headers: string;
  readonly body: string;
}

/** Answers a request instead of the collector; returns whether it did. */
export type Fault = (request: Seen, response: ServerResponse) => boolean;

export const problem = (response: ServerResponse, status: number, code: string, headers = {}): boolean => {
  response.writeHead(status, { "content-type": "application/problem+json", ...CORS, ...headers });
  response.end(JSON.stringify({ type: `about:${code}`, title: code, status, detail: `It is ${code}.`, code }));
  return true;
};

export const dropped: Fault = (_request, response) => {
  response.destroy();
  return true;
};

export const unavailable: Fault = (_request, response) => problem(response, 503, "overloaded");

const CORS = { "access-control-allow-origin": "*" };

export class Collector {
  /** The text of each stored report by its id. */
  readonly stored = new Map<string, string>();
  /** Every text that ever arrived for an id. */
  readonly bodies = new Map<string, Set<string>>();
  readonly seen: Seen[] = [];
  readonly deleted: unknown[] = [];
  /** Faults of the next requests, in order; then `always`. */
  readonly faults: Fault[] = [];
  always: Fault | undefined;
  /** Answers every GET. */
  get: Fault | undefined;
  /** The answer to a question for receipts; without it the collector is one that has none. */
  receipts: ((body: string) => object) | undefined;
  /** Runs instead of "stored" for a report: a status object. */
  judge: (report: Report) => object | undefined = () => undefined;
  published: Record<string, Published> = Object.fromEntries(Object.values(collections).map((one) => [one.id, one]));
  pages: Record<string, { type: string; text: string }> = {};
  port = 0;
  readonly #server: Server = createServer((request, response) => void this.#handle(request, response));

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    collector.port = (collector.#server.address() as AddressInfo).port;
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get posts(): Seen[] {
    return this.seen.filter(({ method }) => method === "POST");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = "", url = "", headers } = request;
    const body = Buffer.concat(parts).toString("utf8");
    const seen = { method, path: url, type: headers["content-type"] ?? "", headers: JSON.stringify(headers), body };
    this.seen.push(seen);
    if (method === "POST") this.#remember(url, body);
    const fault = method === "POST" ? this.faults.shift() ?? this.always : this.get;
    if (fault?.(seen, response)) return;
    if (this.pages[url]) {
      response.writeHead(200, { "content-type": this.pages[url].type });
      response.end(this.pages[url].text);
    } else if (method === "GET") this.#contract(url, response);
    else if (url === "/v1/forget") this.#forget(body, response);
    else if (url === "/v1/receipts") this.#receipts(body, response);
    else this.#ingest(url, body, response);
  }

  #contract(url: string, response: ServerResponse): void {
    const found = this.published[url.split("/").at(-1)!];
    if (!found) return void problem(response, 404, "unknown-collection");
    response.writeHead(200, { "content-type": "application/json", ...CORS });
    response.end(found.contract);
  }

  #forget(body: string, response: ServerResponse): void {
    const { person } = JSON.parse(body) as { person: unknown };
    this.deleted.push(person);
    for (const id of [...this.stored.keys()]) if (JSON.parse(id)[1] === person) this.stored.delete(id);
    response.writeHead(200, { "content-type": "application/json", ...CORS });
    response.end(JSON.stringify({ deleted: true }));
  }

  #receipts(body: string, response: ServerResponse): void {
    if (!this.receipts) return void problem(response, 404, "not-found");
    response.writeHead(200, { "content-type": "application/json", ...CORS });
    response.end(JSON.stringify(this.receipts(body)));
  }

  #ids(url: string, body: string): [string, string, Report][] {
    const reports = (JSON.parse(body) as { reports?: Report[] }).reports ?? [];
    return reports.map((report) =>
      [JSON.stringify([url.split("/")[3], report.person, report.service, report.slot]), JSON.stringify(report), report]);
  }

  #remember(url: string, body: string): void {
    for (const [id, text] of this.#ids(url, body)) this.bodies.set(id, (this.bodies.get(id) ?? new Set()).add(text));
  }

  #ingest(url: string, body: string, response: ServerResponse): void {
    const statuses = this.#ids(url, body).map(([id, text, report]) => {
      const judged = this.judge(report);
      if (judged) return judged;
      const before = this.stored.get(id);
      if (before === undefined) this.stored.set(id, text);
      return { status: before === undefined ? "stored" : before === text ? "again" : "refused",
        ...(before !== undefined && before !== text ? { code: "report-differs" } : {}) };
    });
    response.writeHead(200, { "content-type": "application/json", ...CORS });
    response.end(JSON.stringify({ statuses }));
  }
}

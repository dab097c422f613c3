/**
 * The person at the screen: their id, the round they look at, their choice of tier, and their wallet.
 *
 * Rows exist in memory only. Between visits, the browser keeps the client's wallet (codes, costs, receipts) and, in local
 * storage, the person's id in the services, the key of the page, the cap, and which contracts were seen.
 */
import { type Budget, type Client, connect, type Preview, type Receipt } from "@tacit/client";
import { get, type Listed } from "../shared/api.js";
import type { Round } from "../shared/rounds.js";
import type { Contract } from "../shared/words.js";
import type { Rows } from "./rows.js";

const SETTINGS = "tacit.owner";
const CAP = "4";

/** Credentials for reports: the page's key and, if the collector requires it, a token of the person. */
export interface Access {
  readonly key: string;
  readonly token: string;
}

/** The person's id and cap. Tokens are never stored. */
export interface Settings extends Access {
  readonly person: string;
  readonly cap: string;
  /** The period after which a charge stops counting; "" for never. */
  readonly per: Period;
}

export const PERIODS = ["", "year", "quarter", "month"] as const;
export type Period = typeof PERIODS[number];

export type State = "raw" | "held" | "waiting" | "stored" | "refused" | "forgotten" | "taken";

export function readSettings(): Settings {
  const kept = JSON.parse(localStorage.getItem(SETTINGS) ?? "{}") as Partial<Settings>;
  return { person: kept.person ?? "", key: kept.key ?? "", cap: kept.cap ?? CAP, per: kept.per ?? "", token };
}

export function keepSettings({ person, key, cap, per }: Settings): void {
  localStorage.setItem(SETTINGS, JSON.stringify({ person, key, cap, per }));
}

let token = "";

/** Take what an app hands over behind the `#` of its link, which browsers send nowhere, and clear it from the address. */
export function takeLink(): void {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.size) return;
  token = given.get("token") ?? "";
  const before = readSettings();
  keepSettings({ ...before, person: given.get("person") ?? before.person, key: given.get("key") ?? before.key });
  history.replaceState(null, "", location.pathname);
}

/** One person in one round. */
export class Session {
  readonly #clients = new Map<string, Client>();
  /** Everything in the wallet, of all rounds. */
  history: readonly Receipt[] = [];
  budget: Budget = { cap: 0, spent: 0, left: 0 };
  /** Whether the browser promised to keep the wallet; undefined until it has said so. */
  kept: boolean | undefined;
  tier: Listed;

  private constructor(readonly round: Round, readonly settings: Settings, tier?: Listed) {
    this.tier = tier ?? round.tiers[Math.floor(round.tiers.length / 2)]!;
  }

  /** Open a round; a tier that was chosen and not used yet stays chosen. */
  static async open(round: Round, settings: Settings, tier?: Listed): Promise<Session> {
    const session = new Session(round, settings, tier);
    await session.refresh();
    return session;
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  /** Read the wallet again; what was chosen in this round stays chosen. */
  async refresh(): Promise<void> {
    const client = await this.client();
    [this.history, this.budget] = [await client.history(), await client.budget()];
    const chosen = this.chosenTier();
    if (chosen) this.tier = chosen;
  }

  /** The tier that this person has reported in, if any: a second one would spend both. */
  chosenTier(): Listed | undefined {
    return this.round.tiers.find(({ id }) => this.history.some(({ collection }) => collection === id));
  }

  /** Make the client of a tier; all of them share one wallet. Its contract is compared with its hash, and audited. */
  async client(tier = this.tier): Promise<Client> {
    const { person, key, cap, per, token } = this.settings;
    const made = this.#clients.get(tier.id) ?? await connect(location.origin, {
      collection: tier.id, person, cap, ...(per ? { per } : {}), ...(key ? { key } : {}), ...(token ? { token } : {}),
    });
    this.#clients.set(tier.id, made);
    return made;
  }

  /** Draw a service's report, charge it and keep it; a second call finds the same one. */
  async encode(service: string, rows: Rows): Promise<Preview> {
    return (await this.client()).preview(service, rows);
  }

  /** Release what was drawn, and send it now. */
  async submit(service: string, rows: Rows): Promise<string> {
    const client = await this.client();
    await client.rows(service, rows);
    return this.send();
  }

  /** Send what waits; return what stands in the way, if anything does. */
  async send(): Promise<string> {
    const { problem } = await (await this.client()).flush({ seconds: 3 });
    return problem?.message ?? "";
  }

  async forget(): Promise<string> {
    const { problem } = await (await this.client()).forget({ seconds: 5 });
    return problem?.message ?? "";
  }

  receipt(service: string): Receipt | undefined {
    return this.history.find((one) => one.collection === this.tier.id && one.service === service);
  }

  state(service: string): State {
    const receipt = this.receipt(service);
    if (!receipt) return "raw";
    return stateOf(receipt);
  }

  /** Reports that have been released but not acknowledged. */
  waiting(): number {
    return this.history.filter(({ held }) => !held)
      .flatMap(({ reports }) => reports).filter(({ status }) => status === "waiting").length;
  }
}

export function stateOf({ held, reports }: Receipt): State {
  if (!reports.length) return "forgotten";
  if (reports.some(({ status }) => status === "taken")) return "taken";
  if (held) return "held";
  return reports.some(({ status }) => status === "refused") ? "refused"
    : reports.some(({ status }) => status === "waiting") ? "waiting" : "stored";
}

/** Fetch a tier's contract for its words; the client checks it for itself. */
export const contractOf = (tier: Listed): Promise<Contract> => get<Contract>(`/v1/collections/${tier.id}`);

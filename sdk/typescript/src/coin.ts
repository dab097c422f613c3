/**
 * A person's coin, which assigns the views and seeds of reports; `Service.assign` says how.
 */
import { CollectorError } from "./errors.js";
import { access, type Address } from "./outbox.js";
import type { Store } from "./store.js";
import { post } from "./transport.js";

/** Return a person's coin: kept from before, or fetched and kept. */
export async function coinOf(store: Store, address: Address, timeout: number): Promise<string> {
  const { url, collection, person } = address;
  const name = `coin/${collection}/${person}`;
  const kept = await store.read(name);
  if (kept) return kept;
  const outcome = await post(`${url}/v1/collections/${collection}/coin`, `{${access(address)},"person":${person}}`, timeout);
  if (outcome.kind !== "done") throw outcome.problem;
  const { coin } = Object(outcome.answer) as { coin?: unknown };
  if (!/^[0-9a-f]{32}$/.test(`${coin}`)) throw new CollectorError("The collector sent no coin.", "no-coin");
  await store.update(name, () => coin as string);
  return coin as string;
}

/**
 * Ask the collector which reports of a person it holds: a wallet that was lost must not draw them again.
 */
import { type Address, freshToken } from "./outbox.js";
import { type Outcome, post } from "./transport.js";
import type { Claim, Wallet } from "./wallet.js";

/**
 * Learn which services of the address's collection are taken, and note it; return an outcome that does not say so.
 * Without a token, or from a collector without receipts, nothing is.
 */
export async function askReceipts(
  wallet: Wallet, address: Address, claims: readonly Claim[], timeout: number,
): Promise<Outcome | undefined> {
  const { url, collection, person } = address;
  const token = freshToken(address);
  let taken: unknown = [];
  if (token) {
    const body = `{"collection":"${collection}","key":${person},"token":${JSON.stringify(token)}}`;
    const outcome = await post(`${url}/v1/receipts`, body, timeout);
    const { answer, problem } = outcome;
    if (!problem) ({ taken } = Object(answer) as { taken?: unknown });
    if (problem ? ![404, 405].includes(problem.status) : !Array.isArray(taken)) return outcome;
  }
  const names = (taken as ({ service?: unknown } | null)[]).map((slot) => slot?.service);
  await wallet.noteTaken(collection, claims.filter(({ service }) => names.includes(service)));
  return undefined;
}

/**
 * The sentences of errors, by their codes: a file of its own, since most pages meet no error.
 */
import type { TacitError } from "./errors.js";

type Facts = TacitError["facts"];

const DAMAGED = ([rule]: Facts): string => `The contract breaks the rule ${rule}. Fetch it again.`;

const SENTENCES: Readonly<Record<string, string | ((facts: Facts) => string)>> = {
  "audit-failed": ([rule, service, channel, epsilon]) => "The contract fails its audit: " + ({
    "lie-likelier": `${service}, ${channel}: the truth is no more likely than a lie.`,
    "over-budget": `${service}, ${channel}: a code tells more than its budget of ${epsilon}.`,
  }[rule as string] ?? "the reports together exceed the budget."),
  "bad-answer": "The answer is not about this batch.",
  "bad-collection": "collection is not a contract's id: 64 hexadecimal digits.",
  "bad-dictionary": "The dictionary has other values than the contract says.",
  "bad-option": ([name]) => name === "every" ? "every is a number of seconds from 0."
    : "per is week, month, quarter, year, or days from 1 to 36500.",
  "bad-person": ([most]) => `person is neither text of 1 to ${most} printable letters nor a 64-bit whole number.`,
  "bad-url": "The collector's address is not https, nor of this machine.",
  "cap-exceeded": ([service, cost, used, cap, days, again]) =>
    `${service} costs ${cost}; ${used} of the wallet's ${cap}${days ? ` per ${days} days` : ""} is spent.` +
    (again ? ` There is enough again on ${again}.` : ""),
  "contract-damaged": DAMAGED,
  "contract-not-json": DAMAGED,
  "contract-not-pinned": "The collector's contract is not the pinned one.",
  "contract-too-large": DAMAGED,
  "contract-version": DAMAGED,
  "forgotten": "This person has left this round. The next one is open.",
  "insecure-page": "Contracts are checked on secure pages only: use https.",
  "no-coin": "The collector sent no coin.",
  "no-store": "There is no IndexedDB here. In Node pass a directoryStore of @tacit/client/node.",
  "no-such-round": "round is not the number of a panel's round, from 1 on.",
  "not-a-number": "A number is not a plain decimal such as 0.5.",
  "not-asked": "This person is not asked in this round of the panel.",
  "not-for-clients": DAMAGED,
  "not-rows": ([service]) => `${service}: rows are objects with a value for each column.`,
  "other-tier": ([service]) => `${service}: you have reported in another tier of this round.`,
  "randomness": "The platform's random generator failed or is missing. Nothing was encoded.",
  "store": ([reason]) => `Storage is blocked or full${reason ? ` (${reason})` : ""}. Nothing was encoded.`,
  "store-busy": "Another process holds the store's directory for too long. Try again.",
  "unknown-name": ([known]) => `There is no such service. Known: ${known}.`,
  "unreachable": "The collector did not answer. Reports are kept.",
  "wallet-damaged": "The wallet is damaged or of a newer version. Nothing was encoded.",
  "wrong-origin": ([origin]) =>
    `The collector answers, but not pages of ${origin} (CORS): it needs a key with --origin ${origin}. Reports are kept.`,
};

/** Return an error's message in a sentence; codes that the collector chose have its own detail. */
export function sentenceOf({ code, facts, message }: TacitError): string {
  const sentence = SENTENCES[code];
  return sentence === undefined ? message : `[${code}] ${typeof sentence === "string" ? sentence : sentence(facts)}`;
}

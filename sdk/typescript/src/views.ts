/**
 * The views of a channel: checked and counted before they are expanded.
 */
import type { ChannelData } from "./contract.js";
import { needContract } from "./errors.js";
import { isWhole, power, product } from "./whole.js";

/** What is left of the views of a contract, and of views times attributes. */
export interface Limits {
  views: number;
  entries: number;
}

export const limits = (): Limits => ({ views: 100_000, entries: 2 ** 24 });

/** Return every view, a level (or mask) for each attribute; `tops` are the deepest levels, `sizes` count values. */
export function readViews(
  data: ChannelData["views"], tops: readonly number[], sizes: readonly number[], extras: number, left: Limits,
): number[][] {
  const { product: ranges, list, parities } = data;
  needContract(Object.keys(data).length === 1, "bad-views");
  const take = (count: number): void => {
    left.views -= count;
    left.entries -= count * tops.length;
    needContract(left.views >= 0 && left.entries >= 0, "too-many-views");
  };
  if (ranges) {
    const possible = ranges.length === tops.length && ranges.every((levels, i) =>
      levels.every((level, j) => isWhole(level, j ? levels[j - 1]! + 1 : 0, tops[i]!)));
    needContract(possible, "bad-views");
    take(product(ranges.map(({ length }) => length)));
    return ranges.reduce<number[][]>((views, levels) =>
      views.flatMap((view) => levels.map((level) => [...view, level])), [[]]);
  }
  if (list) {
    for (const view of list) {
      const possible = view.length % 2 === 0 && view.every((number, i) => i % 2
        ? isWhole(number, 1, tops[view[i - 1]!]!) : isWhole(number, i ? view[i - 2]! + 1 : 0, tops.length - 1));
      needContract(possible, "bad-views");
    }
    take(list.length);
    const views = list.map((sparse) => {
      const view = tops.map(() => 0);
      for (let i = 0; i < sparse.length; i += 2) view[sparse[i]!] = sparse[i + 1]!;
      return view;
    });
    needContract(!isProduct(views), "bad-views");
    return views;
  }
  const telling = sizes.flatMap((size, i) => size > 1 ? [i] : []);
  needContract(!extras && isWhole(parities, 1, telling.length), "bad-views"); // people without a row have no parity
  const masks = sizes.map((size) => power(2, (size - 1).toString(2).length) - 1); // c values have the bits of c - 1
  let counts = [1, ...Array<number>(parities).fill(0)];
  for (const i of telling) counts = counts.map((own, k) => own + (k && masks[i]! * counts[k - 1]!));
  take(counts.reduce((a, b) => a + b) - 1);
  return expandParities(parities, telling, masks);
}

/** Whether a list holds all combinations of some levels in order, and so must be written as a product. */
function isProduct(views: readonly (readonly number[])[]): boolean {
  const counts = views[0]!.map((_, i) => new Set(views.map((view) => view[i])).size);
  return product(counts) === views.length && views.every((view, k) => {
    const before = views[k - 1] ?? [];
    const i = view.findIndex((level, place) => level !== before[place]);
    return !k || (i >= 0 && before[i]! < view[i]!);
  });
}

/** Return the masks of all parities: of one attribute first, the last mask changing fastest. */
function expandParities(order: number, telling: readonly number[], masks: readonly number[]): number[][] {
  const views: number[][] = [];
  const choose = (from: number, more: number, view: readonly number[], chosen: readonly number[]): void => {
    const [i, ...others] = chosen;
    if (more) {
      for (let k = from; k < telling.length; k++) choose(k + 1, more - 1, view, [...chosen, telling[k]!]);
    } else if (i === undefined) {
      views.push([...view]);
    } else {
      for (let mask = 1; mask <= masks[i]!; mask++) choose(0, 0, view.map((own, k) => k === i ? mask : own), others);
    }
  };
  for (let count = 1; count <= order; count++) choose(0, count, masks.map(() => 0), []);
  return views;
}

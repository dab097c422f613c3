/**
 * When things happen. Reports leave at ticks that are fixed when a client starts, by a random phase and nothing else:
 * a value, a number of rows or a drawn code can neither hasten nor delay one. Only failures of the network can.
 */
import { type Draws, fraction } from "./randomness.js";

/** Time as an argument: tests have a clock of their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Run something later; the returned function calls it off. In the background it does not keep a process alive. */
  after(milliseconds: number, run: () => void, background?: boolean): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  after: (milliseconds, run, background) => {
    const timer: unknown = setTimeout(run, milliseconds);
    if (background) (timer as { unref?: () => void }).unref?.(); // Node's timers have it, browsers' do not
    return () => clearTimeout(timer as number);
  },
};

/** How long to wait after failures, in milliseconds. */
export interface Patience {
  readonly first: number;
  readonly longest: number;
}

export const PATIENCE: Patience = { first: 1_000, longest: 300_000 };

/** Return the wait after the n-th failure in a row (from 1): it doubles, and is spread so that clients do not march. */
export function backOff(failures: number, { first, longest }: Patience, draws: Draws): number {
  return Math.min(longest, first * 2 ** Math.min(failures - 1, 30)) * (1 + fraction(draws)) / 2;
}

/** Run something at a random phase from now, then once each period, until called off. */
export function atTicks(clock: Clock, period: number, draws: Draws, run: () => void): () => void {
  const start = clock.now() + fraction(draws) * period;
  let cancel = (): void => undefined;
  const schedule = (tick: number): void => {
    cancel = clock.after(Math.max(0, start + tick * period - clock.now()), () => {
      const passed = Math.floor((clock.now() - start) / period); // a sleeping machine misses ticks
      schedule(Math.max(tick, passed) + 1);
      run();
    }, true);
  };
  schedule(0);
  return () => cancel();
}

/** Kills an app with SIGKILL, at a moment that a word says. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { type Collector, unavailable } from "./collector.js";
import { words } from "./vectors.js";

/** Run the app and kill it: some time after its start, or while its k-th request waits for an answer. */
export async function killOnce(
  to: Collector, directory: string, kind: string, word: number, first: number, app = "crash-child",
): Promise<void> {
  const script = join(process.cwd(), `build/test/${app}.mjs`);
  const child = spawn(process.execPath, [script, to.url, directory, kind, `${first}`], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
  const kill = (): void => void process.kill(child.pid!, "SIGKILL");
  child.stdout.resume();
  if (word % 2) {
    let left = 1 + (word >>> 1) % 4;
    to.always = (request, response) => {
      if (--left > 0) return unavailable(request, response);
      to.always = undefined;
      kill();
      response.destroy();
      return true;
    };
  } else child.stdout.once("data", () => setTimeout(kill, (word >>> 1) % 300));
  assert.equal(await ended, "SIGKILL", "the app runs until it is killed");
  to.always = undefined;
}

/** Kill an app that is wrong until it has sent two bodies for one report; on a busy machine it may be killed before it sends. */
export async function isCaught(to: Collector, directory: string, app?: string): Promise<boolean> {
  for (const word of words(`kill mutant ${app}`, 24)) {
    await killOnce(to, directory, "mutant", word, 0, app);
    if ([...to.bodies.values()].some((bodies) => bodies.size > 1)) return true;
  }
  return false;
}

/**
 * One process at a time, without a daemon or a native module, and without waiting for a process that was killed.
 *
 * Locks are numbered files `lock.1`, `lock.2`, …; the highest one counts. It is held while its text names a living
 * process, and free once its text is empty. To take it one links a file of the next number, which fails if somebody
 * else was faster. Old numbers are removed, so a slow rival may still link one; it then sees a higher one and gives up.
 * The highest is never removed, so numbers never start again.
 */
import { link, readdir, readFile, truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { threadId } from "node:worker_threads";
import { StoreError } from "@tacit/client";

/** How long to wait for a living holder, in milliseconds; updates take a few. */
const PATIENCE = 20_000;

const queues = new Map<string, Promise<unknown>>();
const held = new Set<string>();
let drafts = 0;

/** Run `work` while no other process, thread or call is in a section of the same folder. */
export function withLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const run = async (): Promise<T> => {
    const path = await acquire(folder);
    try {
      return await work();
    } finally {
      held.delete(path);
      await truncate(path);
    }
  };
  const result = (queues.get(folder) ?? Promise.resolve()).then(run, run);
  queues.set(folder, result.catch(() => undefined));
  return result;
}

async function acquire(folder: string): Promise<string> {
  const deadline = Date.now() + PATIENCE;
  const draft = join(folder, `draft.${process.pid}.${threadId}.${drafts++}`);
  await writeFile(draft, await ownerText(process.pid));
  try {
    for (let pause = 1; Date.now() < deadline; pause = Math.min(2 * pause, 50)) {
      const before = await numbers(folder);
      const path = join(folder, `lock.${before.highest + 1}`);
      if ((before.highest === 0 || await isFree(join(folder, `lock.${before.highest}`))) && await linked(draft, path)) {
        if ((await numbers(folder)).highest === before.highest + 1) {
          held.add(path);
          for (const old of before.all) await remove(join(folder, `lock.${old}`));
          for (const left of before.drafts) if (await isGone(left)) await remove(join(folder, left));
          return path;
        }
        await remove(path); // a higher one exists: this number was old
      }
      await sleep(pause);
    }
  } finally {
    await remove(draft);
  }
  throw new StoreError("store-busy");
}

async function numbers(folder: string): Promise<{ all: number[]; highest: number; drafts: string[] }> {
  const names = await readdir(folder);
  const all = names.flatMap((name) => {
    const number = /^lock\.(\d+)$/.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
  return { all, highest: Math.max(0, ...all), drafts: names.filter((name) => name.startsWith("draft.")) };
}

/** Tell whether a draft's process was killed before it could remove it. */
async function isGone(draft: string): Promise<boolean> {
  return await ownerText(Number(draft.split(".")[1])) === "";
}

async function isFree(path: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    return false; // replaced meanwhile: look again
  }
  const [pid, , thread] = text.split(" ");
  if (!text) return true;
  if (pid === String(process.pid) && thread === String(threadId)) return !held.has(path); // an earlier life of this pid
  return text !== await ownerText(Number(pid), thread);
}

/** Return a process's number, start and thread, or nothing if it is gone: numbers are used again, starts are not. */
async function ownerText(pid: number, thread = String(threadId)): Promise<string> {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ESRCH") return "";
  }
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "unknown"; // proc(5), field 22
  return `${pid} ${start} ${thread}`;
}

async function linked(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw cause;
  }
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch(() => undefined);
}

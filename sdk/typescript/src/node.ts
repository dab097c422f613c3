/**
 * The durable store of Node: a directory with one file for each text. A file is replaced as a whole (written beside,
 * synced, renamed, directory synced), by one process at a time.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Store, StoreError, TacitError } from "@tacit/client";
import { withLock } from "./lock.js";

const OWNER_ONLY = 0o600;

/** Return a store in a directory of a local disk, which is made if it is missing. Processes may share it. */
export function directoryStore(directory: string): Store {
  const folder = resolve(directory);
  const fileOf = (name: string): string =>
    join(folder, `${createHash("sha256").update(name).digest("hex").slice(0, 40)}.json`);
  return {
    read: (name) => guarded(() => readIfThere(fileOf(name))),
    update: (name, change) => guarded(async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await withLock(folder, async () => {
        const now = await readIfThere(fileOf(name));
        const next = change(now);
        if (next !== now) await replace(folder, fileOf(name), next); // what is there is durable already
      });
    }),
  };
}

async function replace(folder: string, path: string, text: string): Promise<void> {
  const beside = `${path}.new`; // only the holder of the lock writes it, so a crash leaves at most one to overwrite
  const file = await open(beside, "w", OWNER_ONLY);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(beside, path);
  const directory = await open(folder, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
}

/** Errors of the file system become ours, by their code alone. */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof TacitError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
    throw new StoreError("store", code);
  }
}

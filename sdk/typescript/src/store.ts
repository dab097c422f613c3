/**
 * Where a device keeps what must not be lost: one tiny interface, so that a platform needs one small file.
 */

/** Named texts that survive restarts. */
export interface Store {
  /** Return a text, or undefined if there is none. */
  read(name: string): Promise<string | undefined>;
  /**
   * Replace a text by what `change` makes of it, in one step: no other tab, process or call gets in between, and once
   * the promise is fulfilled the new text survives a crash. If `change` throws, nothing is changed.
   */
  update(name: string, change: (now: string | undefined) => string): Promise<void>;
}

/** Return a store that forgets everything when the program ends: for tests only, since a lost wallet is overspent. */
export function memoryStore(): Store {
  const texts = new Map<string, string>();
  return {
    read: async (name) => texts.get(name),
    update: async (name, change) => void texts.set(name, change(texts.get(name))),
  };
}

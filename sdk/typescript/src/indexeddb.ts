/**
 * The store of browsers. A read-write transaction is exclusive over all tabs of an origin, so `change` runs inside it.
 */
import { StoreError } from "./errors.js";
import type { Store } from "./store.js";

const TABLE = "texts";

export function indexedDBStore(database = "tacit"): Store {
  let opened: Promise<IDBDatabase> | undefined;

  async function open(): Promise<IDBDatabase> {
    try {
      const request = indexedDB.open(database, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
      const connection = await resultOf(request);
      connection.onclose = connection.onversionchange = () => {
        connection.close();
        opened = undefined; // the next call opens it again
      };
      return connection;
    } catch {
      opened = undefined;
      throw new StoreError("store");
    }
  }

  const connect = (): Promise<IDBDatabase> => opened ??= open();

  return {
    read: async (name) => resultOf((await connect()).transaction(TABLE).objectStore(TABLE).get(name)),
    async update(name, change) {
      const transaction = (await connect()).transaction(TABLE, "readwrite", { durability: "strict" });
      const table = transaction.objectStore(TABLE);
      let refusal: unknown = new StoreError("store"); // a full disk aborts, too
      const request = table.get(name);
      request.onsuccess = () => {
        let next: string;
        try {
          next = change(request.result as string | undefined);
        } catch (cause) {
          refusal = cause;
          return transaction.abort();
        }
        table.put(next, name); // an exception here aborts, too
      };
      await new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(refusal);
      });
    },
  };
}

function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(new StoreError("store"));
  });
}

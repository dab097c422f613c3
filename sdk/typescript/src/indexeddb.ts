/**
 * The store of browsers. A read-write transaction is exclusive over all tabs of an origin, so `change` runs inside it.
 */
import { StoreError } from "./errors.js";
import type { Store } from "./store.js";

const TABLE = "texts";

export function indexedDBStore(database = "tacit"): Store {
  let opened: Promise<IDBDatabase> | undefined;

  function open(): Promise<IDBDatabase> {
    opened ??= new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open(database, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const connection = request.result;
        const close = (): void => {
          connection.close();
          opened = undefined; // the next call opens it again
        };
        connection.onclose = connection.onversionchange = close;
        resolve(connection);
      };
    }).catch(() => {
      opened = undefined;
      throw failed();
    });
    return opened;
  }

  return {
    async read(name) {
      const connection = await open();
      return new Promise((resolve, reject) => {
        const request = connection.transaction(TABLE).objectStore(TABLE).get(name);
        request.onsuccess = () => resolve(request.result as string | undefined);
        request.onerror = () => reject(failed());
      });
    },
    async update(name, change) {
      const connection = await open();
      return new Promise((resolve, reject) => {
        const transaction = connection.transaction(TABLE, "readwrite", { durability: "strict" });
        const table = transaction.objectStore(TABLE);
        let refusal: unknown;
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(refusal ?? failed()); // a full disk aborts, too
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
      });
    },
  };
}

function failed(): StoreError {
  return new StoreError("Storage is blocked or full. Nothing was encoded.", "store");
}

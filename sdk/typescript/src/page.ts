/**
 * When a page closes, waiting reports are sent as a beacon, which outlives the page. Nobody reads its response, so the
 * reports stay in the wallet and are sent again on the next visit; the collector counts them once.
 */
import type { Client } from "./client.js";

/** Attach a client to its page: beacons when it is hidden, an attempt when the network is back. */
export function attachToPage(client: Client): void {
  const sent = new Set<string>(); // a page is hidden many times; each beacon leaves once
  const beacon = ({ type }: Event): void => {
    if (type !== "pagehide" && document.visibilityState !== "hidden") return;
    for (const { url, body } of client.lastWords()) {
      if (!sent.has(body) && navigator.sendBeacon(url, body)) sent.add(body); // a text's beacon is text/plain
    }
  };
  const online = (): void => void client.attemptAndRetry();
  document.addEventListener("visibilitychange", beacon);
  window.addEventListener("pagehide", beacon);
  window.addEventListener("online", online);
  client.onClose(() => {
    document.removeEventListener("visibilitychange", beacon);
    window.removeEventListener("pagehide", beacon);
    window.removeEventListener("online", online);
  });
}

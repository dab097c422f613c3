/**
 * When a page closes, waiting reports are sent as a beacon, which outlives the page. Nobody reads its response, so the
 * reports stay in the wallet and are sent again on the next visit; the collector counts them once.
 */
import type { Envelope } from "./outbox.js";

/** Send beacons when the page is hidden, and try again when the network is back; the returned function stops both. */
export function attachToPage(lastWords: () => readonly Envelope[], tryAgain: () => void): () => void {
  const sent = new Set<string>(); // a page is hidden many times; each beacon leaves once
  const beacon = ({ type }: Event): void => {
    if (type !== "pagehide" && document.visibilityState !== "hidden") return;
    for (const { url, body } of lastWords()) {
      if (!sent.has(body) && navigator.sendBeacon(url, body)) sent.add(body); // a text's beacon is text/plain
    }
  };
  const stop = new AbortController();
  document.addEventListener("visibilitychange", beacon, stop);
  addEventListener("pagehide", beacon, stop);
  addEventListener("online", tryAgain, stop);
  return () => stop.abort();
}

/** The page of the browser tests: a client of the shipped bundle that the tests speak to by name. */
export const PAGE = `<!doctype html><meta charset="utf-8"><title>tacit</title><script type="module">
import { connect, indexedDBStore } from "/tacit.js";
const settings = JSON.parse(decodeURIComponent(location.hash.slice(1)));
window.client = await connect(location.origin, settings).catch((error) => ({ failed: error.code }));
window.store = indexedDBStore();
</script>`;

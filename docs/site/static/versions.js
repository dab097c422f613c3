// The versions that the site holds: versions.json lies beside the folders of all of them.
document.addEventListener("DOMContentLoaded", async () => {
  const label = document.querySelector(".tacit-versions");
  const select = label?.querySelector("select");
  if (!select) return;
  const root = new URL(`${select.dataset.up || "."}/../`.replace("//", "/"), location.href);
  const answer = await fetch(new URL("versions.json", root)).catch(() => undefined);
  if (!answer?.ok) return; // read from a disk, or one version alone
  const here = location.href.slice(new URL(`${select.dataset.version}/`, root).href.length);
  for (const name of await answer.json()) select.add(new Option(name, name, false, name === select.dataset.version));
  label.hidden = false;
  select.addEventListener("change", async () => {
    const page = new URL(`${select.value}/${here}`, root);
    const there = await fetch(page, { method: "HEAD" }).catch(() => undefined);
    location.href = there?.ok ? page.href : new URL(`${select.value}/index.html`, root).href;
  });
});

// The page's three parts, each at an address of its own: #predict, #ask, #runs, with their state behind a ?.
import { $ } from "./dom.js";

// A part is fetched when it is first shown.
const parts = {
  predict: () => import("./predict.js"),
  ask: () => import("./ask.js"),
  runs: () => import("./runs.js"),
};
let shown = null;

async function go(hash) {
  const [name, query = ""] = hash.slice(1).split("?");
  if (name === "main" && shown) return;
  const chosen = parts[name] ? name : "predict";
  const before = shown;
  shown = chosen;
  for (const part of Object.keys(parts)) {
    $(`#part-${part}`).hidden = part !== chosen;
    const link = $(`nav a[href="#${part}"]`);
    if (part === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${$(`#${chosen}-title`).textContent} · lengthwise`;
  if (before && before !== chosen) (await parts[before]()).leave();
  const part = await parts[chosen]();
  if (shown === chosen) part.enter(new URLSearchParams(query));
}

// The event's own address: a part that has just been entered may have written over the page's meanwhile.
window.addEventListener("hashchange", (event) => go(new URL(event.newURL).hash));
go(location.hash);

// The page's three parts, each with its own address: #predict, #ask, #runs, followed by ? and their state.
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

// The event's address, not the page's: a part that was just entered may have changed that already.
window.addEventListener("hashchange", (event) => go(new URL(event.newURL).hash));
go(location.hash);

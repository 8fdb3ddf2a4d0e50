// Tokens with their shares, as of attention. A long list shows only shares of at least 1 %, with their positions.
import { h } from "./dom.js";

const MANY = 80;
const LEAST = 0.01;

// An item is { text, share, name, place }: `name` tells screen readers where it stands, `place` is short.
export const areMany = (items) => items.length > MANY;
export const isWorthTelling = (share) => share >= LEAST;
export const worthTelling = (items) => items.filter(({ share }) => isWorthTelling(share));

export function shareList(items, isShort) {
  return h("div", { class: "tokens" }, (isShort ? worthTelling(items) : items).map((item) => token(item, isShort)));
}

function token({ text, share, name, place }, isShort) {
  const element = h(
    "span",
    {
      class: share > 0.15 ? "token strong" : "token",
      role: "img",
      "aria-label": `${name}, ${text}: ${Math.round(100 * share)} %`,
    },
    isShort ? h("small", { class: "place", "aria-hidden": "true" }, place) : null,
    text,
    h("small", { "aria-hidden": "true" }, share < 0.005 ? "" : String(Math.round(100 * share))),
  );
  element.style.setProperty("--share", share);
  return element;
}

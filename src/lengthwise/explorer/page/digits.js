// Sums written in columns, with the digits that differ marked.
import { h } from "./dom.js";

// The digits of an operand. Digits beyond the trained length are marked, and all digits of one that is too short.
export function operand(text, [fewest, most]) {
  const tooShort = text.length < fewest;
  const seenFrom = tooShort ? text.length : text.length - most;
  return [...text].map((digit, i) =>
    h(
      "span",
      {
        class: i < seenFrom ? "digit unseen" : "digit",
        title: i < seenFrom ? `${tooShort ? "shorter" : "longer"} than anything in training` : null,
      },
      digit,
    ),
  );
}

// An answer compared with the truth, digit by digit: the digit, a dot where there is none, and whether it differs.
export function compared(text, truth) {
  const width = Math.max(text.length, truth.length);
  const [own, right] = [text.padStart(width, "\0"), truth.padStart(width, "\0")];
  return [...own].map((digit, i) => ({ digit: digit === "\0" ? "·" : digit, differs: digit !== right[i] }));
}

export function marked(text, truth) {
  return compared(text, truth).map(({ digit, differs }) =>
    h("span", { class: differs ? "digit wrong" : "digit" }, digit),
  );
}

export const plain = (text) => [...text].map((digit) => h("span", { class: "digit" }, digit));

export function row(label, content, spoken, kind = "") {
  return h(
    "tr",
    { class: kind },
    h("th", { scope: "row" }, label),
    h("td", spoken ? { "aria-label": spoken } : {}, content),
  );
}

// A table for each block of rows.
export function sum(blocks, kind = "") {
  return h(
    "div",
    { class: `sum ${kind}`, tabindex: "0", role: "group", "aria-label": "The sum in columns" },
    blocks.map((rows) => h("table", {}, h("tbody", {}, rows))),
  );
}

// Sums written in columns, with the digits that differ marked, and long ones in blocks.
import { $, h } from "./dom.js";

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

// A problem in columns. A long one is split into blocks as wide as the page, the most significant block first.

// A row is { label, sign, long, cells, spoken, kind }. In blocks its label is `long`; in one table it is `label`, and
// `sign` is a cell before the others.

// Numbers of at least this many digits are written smaller and in groups of ten.
const DENSE = 81;
export const isDense = (digits) => digits >= DENSE;
const longest = (rows) => Math.max(...rows.map(({ cells }) => cells.length));
const kindOf = (rows) => (isDense(longest(rows)) ? "long dense" : "long");

// The number of columns that fit beside the labels, in one table and in blocks.
export function columnsThatFit(place, rows) {
  const count = (kind, label) => {
    const probe = sum([rows.map((r) => row(r[label], plain("0".repeat(11))))], kind);
    place.append(probe);
    const cells = [...$(".digit", probe).parentElement.children];
    const [first, second, ...others] = cells.map((cell) => cell.getBoundingClientRect().x);
    const space = place.clientWidth - $("th", probe).getBoundingClientRect().width;
    const column = kind === "long dense" ? others[0] - second : second - first,
      ten = others.at(-1) - first;
    probe.remove();
    return kind === "long dense" ? 10 * Math.floor((space + ten - 10 * column) / ten) : Math.floor(space / column);
  };
  return { whole: Math.max(1, count("", "label")), block: Math.max(1, count(kindOf(rows), "long")) };
}

export function isLong(rows, fit) {
  return Math.max(...rows.map(({ sign = [], cells }) => sign.length + cells.length)) > fit.whole;
}

export function drawn(rows, fit) {
  if (!isLong(rows, fit))
    return sum([rows.map((r) => row(r.label, content(r, [...(r.sign ?? []), ...r.cells]), r.spoken, r.kind))]);
  const count = Math.ceil(longest(rows) / fit.block);
  // The last block is full, so that a digit's block is known before higher digits are written.
  const blocks = Array.from({ length: count }, (_, k) => rows.map((r) => cut(r, (count - 1 - k) * fit.block, fit.block)));
  return sum(blocks, kindOf(rows));
}

// The `columns` cells of a row that come before its last `from` ones.
function cut(r, from, columns) {
  const end = Math.max(0, r.cells.length - from);
  const some = r.cells.slice(Math.max(0, end - columns), end);
  return row(r.long, content(r, some), r.spoken && some.map((cell) => cell.textContent).join(""), r.kind);
}

const content = (r, cells) => (r.kind === "result" ? h("div", { class: "answer-row" }, cells) : cells);

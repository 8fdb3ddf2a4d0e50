// A worked example of a prediction in columns, and fields for your own numbers.
import { marked, operand, plain, row, sum } from "./digits.js";
import { h } from "./dom.js";

export const exampleOutput = h("div");
export const exampleForm = h(
  "form",
  { class: "example-tools", autocomplete: "off", novalidate: true },
  exampleField("a", "Your own first number"),
  exampleField("b", "and second"),
  h("button", { type: "button" }, "Another example"),
);

function exampleField(name, label) {
  return h(
    "div",
    { class: "field" },
    h("label", { for: `example-${name}` }, label),
    h("input", {
      id: `example-${name}`,
      name,
      class: "number",
      inputmode: "numeric",
      spellcheck: "false",
      "aria-describedby": `example-${name}-error`,
    }),
    h("p", { class: "field-error", id: `example-${name}-error`, "data-error": name, role: "alert" }),
  );
}

export function showExample({ example, trained_length: trained, sign, task }) {
  for (const name of ["a", "b"]) exampleForm.elements[name].placeholder = example[name];
  const modulus = task.split("%")[1];
  const longer = Math.max(example.a.length, example.b.length) > trained;
  const rows = [
    row("", operand(example.a, [1, trained]), example.a),
    row("", [h("span", { class: "digit" }, sign), ...operand(example.b, [1, trained])], `${sign} ${example.b}`, "line"),
    row(modulus ? `truth, modulo ${modulus}` : "truth", plain(example.truth), example.truth, "result"),
  ];
  if (example.predicted !== null)
    rows.push(row("it will say", marked(example.predicted, example.truth), example.predicted));
  exampleOutput.replaceChildren(sum([rows]), h("p", { class: "note" }, ...remark(example, longer)));
}

function remark(example, longer) {
  const key = longer
    ? [h("span", { class: "digit unseen" }, "Dotted digits"), " are beyond the trained length. "]
    : [];
  if (example.predicted === null) return [...key, "Theory makes no prediction here."];
  if (example.predicted === example.truth) return [...key, "Theory predicts the right answer here."];
  return [...key, h("span", { class: "digit wrong" }, "Underlined digits"), " will be wrong."];
}

// A problem and a model's answer to it, in columns, beside the truth and what theory predicts.
import { compared, marked, operand, plain, row, sum } from "./digits.js";
import { $, h } from "./dom.js";

// The problem in columns, with the answer growing in it.
export class AnswerSheet {
  // `pointedAt` is told which token of the answer someone points at.
  constructor(question, model, pointedAt) {
    this.model = model;
    this.pointedAt = pointedAt;
    this.a = clean(question.a);
    this.b = clean(question.b);
    this.tokens = [];
    this.buttons = new Map();
    this.cells = h("div", { class: "answer-row" });
    $("#answer-verdict").textContent = "";
    this.draw([h("span", { class: "note" }, "the model is being loaded…")]);
  }

  draw(answer) {
    const trained = this.model.trained_length,
      sign = this.model.symbol === "*" ? "×" : "+";
    const rows = [
      row("", operand(this.a, trained), this.a),
      row("", [h("span", { class: "digit" }, sign), ...operand(this.b, trained)], `${sign} ${this.b}`, "line"),
      row("model", answer, null, "result"),
    ];
    if (this.problem) {
      rows.push(row("truth", plain(this.problem.truth), this.problem.truth));
      rows.push(
        this.problem.predicted === null
          ? row("theory", [h("span", { class: "note" }, "no prediction")])
          : row(
              "theory",
              marked(this.problem.predicted.padStart(this.problem.truth.length, "0"), this.problem.truth),
              this.problem.predicted,
            ),
      );
    }
    $("#answer").replaceChildren(sum(...rows));
    $("#answer-hint").textContent = this.hint();
  }

  hint() {
    if (!this.problem) return "";
    const order = this.problem.last_digit_first
      ? "The model writes the last digit first."
      : "The model writes the first digit first.";
    return `${order} The bar under a digit is its probability. Point at a digit to see where it comes from.`;
  }

  begin(problem) {
    this.problem = problem;
    this.draw(this.cells);
  }

  add(token) {
    const index = this.tokens.push(token) - 1;
    if (token.kind !== "digit") return;
    const button = h(
      "button",
      {
        type: "button",
        class: "answer-digit",
        "aria-pressed": "false",
        "aria-label": `${token.text}, ${chance(token.probability)}`,
      },
      token.text,
      h("span", { class: "sure" }, h("i")),
    );
    button.querySelector("i").style.width = `${100 * token.probability}%`;
    for (const event of ["pointerenter", "focus", "click"])
      button.addEventListener(event, () => this.pointedAt(index));
    this.buttons.set(index, button);
    this.problem.last_digit_first ? this.cells.prepend(button) : this.cells.append(button);
    this.cells.closest(".sum").scrollLeft = 1e6;
  }

  finish(answer) {
    this.mark();
    const line = $("#answer-verdict");
    if (answer.malformed) line.textContent = `✗ This is no number: ${answer.malformed}.`;
    else if (answer.right)
      line.textContent =
        answer.as_predicted === false ? "✓ Right, though theory predicted another answer." : "✓ Right.";
    else
      line.textContent = answer.as_predicted
        ? "✗ Wrong, and exactly as theory predicted."
        : answer.as_predicted === null
          ? "✗ Wrong. Theory makes no prediction here."
          : "✗ Wrong, and not as theory predicted.";
  }

  // Digits that differ from the truth; zeros that only fill up the width are dimmed.
  mark() {
    const buttons = [...this.cells.children];
    const text = buttons.map((button) => button.firstChild.data).join("");
    const leading = text.match(/^0*(?=.)/)[0].length;
    const truth = this.problem.truth.padStart(text.length, "0");
    compared(text, truth)
      .slice(-text.length)
      .forEach(({ differs }, i) => {
        buttons[i].classList.toggle("wrong", differs);
        buttons[i].classList.toggle("absent", !differs && i < leading);
      });
  }

  select(index) {
    for (const [i, button] of this.buttons) button.setAttribute("aria-pressed", String(i === index));
  }

  fail(message) {
    $("#answer").replaceChildren(h("p", { class: "problem" }, message || "No answer: see the marked field."));
  }
}

const clean = (text) =>
  text
    .replace(/\s/g, "")
    .toLowerCase()
    .replace(/^0+(?=.)/, "");

const chance = (p) => (p > 0.9999 ? "more than 99.99 %" : `${(100 * p).toFixed(p > 0.99 ? 2 : 1)} %`);

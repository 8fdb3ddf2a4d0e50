// A problem and a model's answer to it, in columns, beside the truth and what theory predicts.
import { columnsThatFit, drawn, isLong } from "./blocks.js";
import { compared, marked, operand, plain } from "./digits.js";
import { $, h } from "./dom.js";
import { digitsRight, verdict } from "./answer_words.js";

let shown = null;
new ResizeObserver(() => shown?.refit()).observe($("#answer"));

// The problem in columns, with the answer growing in it.
export class AnswerSheet {
  // `pointedAt` is told which token of the answer someone points at.
  constructor(question, model, pointedAt) {
    this.model = model;
    this.pointedAt = pointedAt;
    this.a = clean(question.a);
    this.b = clean(question.b);
    this.tokens = [];
    this.waiting = "the model is being loaded…";
    this.buttons = new Map();
    // The answer's digits, the most significant first, and zeros that may only fill up its width.
    this.digits = [];
    this.zeros = [];
    $("#answer-verdict").textContent = $("#answer-count").textContent = "";
    shown = this;
    this.draw();
  }

  rows() {
    const [ofA, ofB] = this.model.trained_lengths,
      { sign } = this.model;
    const waiting = this.waiting ? [h("span", { class: "note", role: "status" }, this.waiting)] : [];
    const rows = [
      { label: "", long: "first", cells: operand(this.a, ofA), spoken: this.a },
      {
        label: "",
        long: `${sign} second`,
        sign: plain(sign),
        cells: operand(this.b, ofB),
        spoken: `${sign} ${this.b}`,
        kind: "line",
      },
      { label: "model", long: "model", cells: this.digits.length ? this.digits : waiting, kind: "result" },
    ];
    return this.problem ? [...rows, ...this.references()] : rows;
  }

  references() {
    const { truth, predicted } = this.problem;
    const theory =
      predicted === null
        ? { cells: [h("span", { class: "note" }, "no prediction")] }
        : { cells: marked(predicted.padStart(truth.length, "0"), truth), spoken: predicted };
    return [
      { label: "truth", long: "truth", cells: plain(truth), spoken: truth },
      { label: "theory", long: "theory", ...theory },
    ];
  }

  draw() {
    const rows = this.rows(),
      focused = document.activeElement;
    this.fit = columnsThatFit($("#answer"), rows);
    this.isLong = isLong(rows, this.fit);
    $("#answer").replaceChildren(drawn(rows, this.fit));
    $("#answer-hint").textContent = this.hint();
    if (this.digits.includes(focused)) focused.focus();
  }

  refit() {
    if (!$("#answer").clientWidth) return;
    const fit = columnsThatFit($("#answer"), this.rows());
    if (fit.whole !== this.fit.whole || fit.block !== this.fit.block) this.draw();
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
    this.waiting = "";
    this.draw();
  }

  // Until its turn.
  wait({ position, seconds }) {
    const before = position === 1 ? "1 question is" : `${position} questions are`;
    this.waiting = `${before} before this one: about ${Math.ceil(seconds)} s`;
    this.draw();
  }

  add(token) {
    if (this.waiting) this.begin(this.problem);
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
    this.put(button);
  }

  // Where the last digit comes first, a zero above the truth's digits waits for a digit above it.
  put(button) {
    const { last_digit_first: isReversed, truth } = this.problem;
    if (isReversed && button.firstChild.data === "0" && this.digits.length >= truth.length)
      return this.zeros.push(button);
    this.putZeros();
    this.place(button);
  }

  putZeros() {
    this.zeros.splice(0).forEach((button) => this.place(button));
  }

  // In its block; all is drawn anew only where there is none for it yet.
  place(button) {
    const { last_digit_first: isReversed, truth } = this.problem;
    const column = isReversed ? this.digits.length : Math.max(0, truth.length - 1 - this.digits.length);
    isReversed ? this.digits.unshift(button) : this.digits.push(button);
    const places = [...$("#answer").querySelectorAll(".answer-row")];
    const place = places.at(-1 - Math.floor(column / (this.isLong ? this.fit.block : this.fit.whole)));
    if (!place) return this.draw();
    isReversed ? place.prepend(button) : place.append(button);
  }

  finish(answer) {
    // What is no number is shown as it was written: a zero too many may be why.
    if (answer.malformed) this.putZeros();
    // Until now its length was not known.
    if (!this.problem.last_digit_first) this.draw();
    const text = this.digits.map((button) => button.firstChild.data).join("");
    const differing = compared(text, this.problem.truth).slice(-text.length);
    this.digits.forEach((button, i) => button.classList.toggle("wrong", differing[i].differs));
    $("#answer-verdict").textContent = verdict(answer);
    $("#answer-count").textContent = answer.malformed ? "" : digitsRight(text, this.problem.truth);
  }

  select(index) {
    for (const [i, button] of this.buttons) button.setAttribute("aria-pressed", String(i === index));
  }

  fail(message) {
    shown = null;
    $("#answer").replaceChildren(h("p", { class: "problem" }, message || "No answer: see the marked field."));
  }
}

const clean = (text) =>
  text
    .replace(/\s/g, "")
    .toLowerCase()
    .replace(/^0+(?=.)/, "");

const chance = (p) => (p > 0.9999 ? "more than 99.99 %" : `${(100 * p).toFixed(p > 0.99 ? 2 : 1)} %`);

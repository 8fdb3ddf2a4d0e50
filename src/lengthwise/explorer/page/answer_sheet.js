// A problem and a model's answer to it, in columns, beside the truth and what theory predicts.
import { columnsThatFit, drawn, isDense, isLong } from "./blocks.js";
import { compared, marked, operand, plain } from "./digits.js";
import { $, h } from "./dom.js";
import { digitsRight, verdict } from "./answer_words.js";

let shown = null;
new ResizeObserver(() => shown?.refit()).observe($("#answer"));
$("#answer").addEventListener("keydown", (event) => shown?.move(event));

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
    // The answer's digits, the most significant first, and zeros that may only fill up its width.
    this.digits = [];
    this.zeros = [];
    for (const name of ["verdict", "count", "note"]) $(`#answer-${name}`).textContent = "";
    shown = this;
    progress("The model is being loaded…");
    this.draw();
  }

  rows() {
    const [ofA, ofB] = this.model.trained_lengths,
      { sign } = this.model;
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
      { label: "model", long: "model", cells: this.digits, kind: "result" },
    ];
    return this.problem ? [...rows, ...this.references()] : rows;
  }

  references() {
    const { truth, predicted } = this.problem;
    const theory =
      predicted === null
        ? { cells: [h("span", { class: "note" }, "no prediction")] }
        : { cells: marked(predicted.padStart(truth.length, "0"), truth), spoken: predicted };
    const rows = [
      { label: "truth", long: "truth", cells: plain(truth), spoken: truth },
      { label: "theory", long: "theory", ...theory },
    ];
    return this.theoryInWords() ? rows.slice(0, 1) : rows;
  }

  // Where digits are many, a row that says nothing new would only take up room.
  theoryInWords() {
    const { truth, predicted } = this.problem;
    if (!isDense(truth.length)) return "";
    return predicted === null ? "Theory makes no prediction. " : predicted === truth ? "Theory predicts the truth. " : "";
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
    const hint = "Point at a digit, or use the arrow keys, to see where it comes from.";
    return `${this.theoryInWords()}${order} The bar under a digit is its probability. ${hint}`;
  }

  begin(problem) {
    this.problem = problem;
    $("#answer-note").textContent = problem.note ? `${problem.note[0].toUpperCase()}${problem.note.slice(1)}.` : "";
    progress("The model reads the problem…");
    this.draw();
  }

  // Until its turn.
  wait({ position, seconds }) {
    const before = position === 1 ? "1 question is" : `${position} questions are`;
    progress(`${before} before this one: about ${Math.ceil(seconds)} s`);
  }

  add(token) {
    const index = this.tokens.push(token) - 1;
    progress("The model writes", this.digits.length, this.problem.truth.length);
    if (token.kind !== "digit") return;
    const button = h(
      "button",
      {
        type: "button",
        class: "answer-digit",
        tabindex: "-1",
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
    progress();
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
    for (const [i, button] of this.buttons) {
      button.setAttribute("aria-pressed", String(i === index));
      button.tabIndex = i === index ? 0 : -1;
    }
  }

  // The digits are one stop of the Tab key; arrow keys go from one to the next.
  move(event) {
    const at = this.digits.indexOf(event.target),
      line = this.isLong ? this.fit.block : this.digits.length;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -line, ArrowDown: line, Home: -at, End: this.digits.length };
    if (at < 0 || !(event.key in steps)) return;
    event.preventDefault();
    this.digits[Math.max(0, Math.min(this.digits.length - 1, at + steps[event.key]))].focus();
  }

  // The token of the digit beside another one, to its left (-1) or right (1); undefined at the end.
  beside(index, step) {
    const button = this.digits[this.digits.indexOf(this.buttons.get(index)) + step];
    return [...this.buttons].find(([, other]) => other === button)?.[0];
  }

  fail(message) {
    shown = null;
    progress();
    $("#answer").replaceChildren(h("p", { class: "problem" }, message || "No answer: see the marked field."));
  }
}

// What the model is doing, and how much of it is done; nothing where it is done.
function progress(doing = "", written = 0, digits = 0) {
  const place = $("#answer-progress"),
    [words, count] = place.querySelectorAll("span"),
    bar = $("progress", place);
  place.hidden = !doing;
  if (words.textContent !== doing) words.textContent = doing;
  count.textContent = digits ? ` ${Math.min(written + 1, digits)} of ${digits} digits` : "";
  if (digits) Object.assign(bar, { max: digits, value: written + 1 });
  else bar.removeAttribute("value");
}

const clean = (text) =>
  text
    .replace(/\s/g, "")
    .toLowerCase()
    .replace(/^0+(?=.)/, "");

const chance = (p) => (p > 0.9999 ? "more than 99.99 %" : `${(100 * p).toFixed(p > 0.99 ? 2 : 1)} %`);

// A problem and a model's answer in columns, with the truth and what theory predicts below, and the verdict in words.
import { columnsThatFit, compared, drawn, isDense, isLong, marked, operand, plain } from "./digits.js";
import { $, h } from "./dom.js";

let shown = null;
new ResizeObserver(() => shown?.refit()).observe($("#answer"));
$("#answer").addEventListener("keydown", (event) => shown?.move(event));

// The problem in columns, to which the answer is added digit by digit.
export class AnswerSheet {
  // `pointedAt` is called with the index of the answer token that the user points at.
  constructor(question, model, pointedAt) {
    this.model = model;
    this.pointedAt = pointedAt;
    this.a = clean(question.a);
    this.b = clean(question.b);
    this.tokens = [];
    this.buttons = new Map();
    // The answer's digits, the most significant first, and leading zeros that may be padding.
    this.digits = [];
    this.zeros = [];
    for (const name of ["verdict", "count", "note"]) $(`#answer-${name}`).textContent = "";
    shown = this;
    progress("Loading the model…");
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

  // For long answers, a sentence replaces the row of theory where it would repeat the truth or be empty.
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
      : "The model writes the highest digit first.";
    const hint = "Point at a digit of the answer, or use the arrow keys, to see where it comes from.";
    return `${this.theoryInWords()}${order} The bar under a digit is its probability. ${hint}`;
  }

  begin(problem) {
    this.problem = problem;
    $("#answer-note").textContent = problem.note ? `${problem.note[0].toUpperCase()}${problem.note.slice(1)}.` : "";
    progress("The model reads the problem…");
    this.draw();
  }

  // While other questions are answered first.
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

  // Where the last digit comes first, a zero beyond the truth's length is shown only once a digit follows it.
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

  // Adds a digit to its block; everything is redrawn only where there is no block for it yet.
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
    // A malformed answer is shown as it was written: an extra zero may be the reason.
    if (answer.malformed) this.putZeros();
    // The columns are known only now that the answer is complete.
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

  // The Tab key stops once for all digits; arrow keys move between them.
  move(event) {
    const at = this.digits.indexOf(event.target),
      line = this.isLong ? this.fit.block : this.digits.length;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -line, ArrowDown: line, Home: -at, End: this.digits.length };
    if (at < 0 || !(event.key in steps)) return;
    event.preventDefault();
    this.digits[Math.max(0, Math.min(this.digits.length - 1, at + steps[event.key]))].focus();
  }

  // The token of the digit to the left (-1) or right (1) of another; undefined at the end.
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

// Shows what the model is doing and how far it is; hides the line where nothing is being done.
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

// Whether an answer is right, and as theory predicted, in words.

const NAMES = ["ones", "tens", "hundreds", "thousands"];
const COUNTED_FROM = 17;

export function verdict(answer) {
  if (answer.malformed) return `✗ Not a number: ${answer.malformed}.`;
  if (answer.right)
    return answer.as_predicted === false ? "✓ Right, though theory predicted another answer." : "✓ Right.";
  if (answer.as_predicted) return "✗ Wrong, and exactly as theory predicted.";
  return answer.as_predicted === null
    ? "✗ Wrong. Theory makes no prediction here."
    : "✗ Wrong, and not as theory predicted.";
}

// How many digits of a long answer are right; empty where it is short enough to see.
export function digitsRight(text, truth) {
  const places = compared(text, truth).reverse();
  if (places.length < COUNTED_FROM) return "";
  const wrong = places.flatMap(({ differs }, i) => (differs ? [i] : []));
  const count = `${places.length - wrong.length} of ${places.length} digits right`;
  if (!wrong.length) return `${count}.`;
  const first = NAMES[wrong[0]] ?? `digit ${wrong[0] + 1}`;
  return `${count}; first wrong from the right: ${first}.`;
}

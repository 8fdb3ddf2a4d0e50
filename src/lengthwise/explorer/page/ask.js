// Ask: put a problem to a trained model, watch it answer, and see where a digit comes from.
import { AnswerSheet } from "./answer_sheet.js";
import { getJson, getLines } from "./api.js";
import { $, clearErrors, h, setValues, showError, values } from "./dom.js";
import { Inside } from "./inside.js";
import { positions } from "./run_data.js";

// Milliseconds: per digit, at most for a whole answer, and per frame.
const BEAT = 90;
const WHOLE = 4000;
const FRAME = 16;
const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

const form = $("#ask-form");
const inside = new Inside($("#inside"));
let models = new Map();
let current = new AbortController();

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
  reveal();
});
form.elements.model.addEventListener("change", () => {
  describe();
  random();
});
$("#ask-random").addEventListener("click", () => {
  random();
  reveal();
});

export async function enter(state) {
  const before = form.elements.model.value;
  try {
    const { models: listed } = await getJson("/api/models");
    models = new Map(listed.map((model) => [model.name, model]));
  } catch (error) {
    showError(form, "model", error.message);
    return;
  }
  list();
  const wanted = state.get("model") ?? (models.has(before) ? before : [...models.keys()][0]);
  setValues(form, { model: wanted });
  if (state.has("a") && state.has("b")) setValues(form, { a: state.get("a"), b: state.get("b") });
  describe();
  if (!models.has(wanted)) return refuse(`There is no model “${wanted}” here: choose another.`);
  if (form.elements.a.value && form.elements.b.value) ask();
  else random();
}

// Says why a model cannot be asked, and hides the answer of the model before.
function refuse(message) {
  current.abort();
  $("#ask-results").hidden = true;
  showError(form, "model", message);
}

// On a narrow screen the answer is below the form: scroll to it.
function reveal() {
  const card = $("#answer-card");
  if (card.getBoundingClientRect().top > innerHeight - 160) card.scrollIntoView();
}

export function leave() {
  current.abort();
}

function list() {
  const options = (shipped) =>
    [...models.values()]
      .filter((model) => model.shipped === shipped)
      .map((model) =>
        h(
          "option",
          { value: model.name },
          model.error
            ? `${model.name} (cannot be read)`
            : `${model.name}: ${model.task}, trained on ${model.train}, ${positions(model.encoding)}`,
        ),
      );
  const groups = [
    ["models that come with lengthwise", options(true)],
    ["your own runs", options(false)],
  ].filter(([, some]) => some.length);
  form.elements.model.replaceChildren(...groups.map(([label, some]) => h("optgroup", { label }, some)));
}

function describe() {
  const model = models.get(form.elements.model.value);
  clearErrors(form);
  $("#model-about").replaceChildren();
  if (!model) return;
  const modulus = model.task.split("%")[1];
  $("#ask-symbol").textContent = model.sign ?? "";
  $("#model-about").replaceChildren(
    ...(model.error
      ? []
      : [
          `${model.operation}${modulus ? ` modulo ${modulus}` : ""} in base ${model.base}. ${training(model)}, it accepts up to ${model.operand_digits}. `,
          h("strong", {}, "Theory: "),
          model.headline,
        ]),
  );
  if (model.error) showError(form, "model", model.error);
}

function training({ trained_lengths: lengths }) {
  const [a, b] = lengths.map(([fewest, most]) => `${fewest === most ? "exactly" : "up to"} ${most}`);
  const numbers = `Trained on numbers of ${a} digits`;
  return a === b ? numbers : `${numbers} and numbers of ${b}`;
}

// Draws operands two digits longer than in training; where one is always short in training, it stays short.
function random() {
  const model = models.get(form.elements.model.value);
  if (!model) return refuse("Choose a model.");
  if (model.error) return;
  const trained = model.trained_lengths.map(([, most]) => most);
  const length = (most) => (most < Math.max(...trained) ? most : Math.min(model.operand_digits, most + 2));
  const digit = (from) => DIGITS[from + Math.floor(Math.random() * (model.base - from))];
  const number = (count) => digit(1) + Array.from({ length: count - 1 }, () => digit(0)).join("");
  const [a, b] = trained.map((most) => number(length(most)));
  setValues(form, { a, b });
  ask();
}

// Checks a number without asking the server.
function complaint(text, model) {
  const digits = text.replace(/\s/g, "").toLowerCase();
  if (!digits) return "type a number here";
  const allowed = DIGITS.slice(0, model.base);
  const stranger = [...digits].find((c) => !allowed.includes(c));
  if (stranger)
    return `“${stranger}” is not a digit in base ${model.base} (${allowed[0]} to ${allowed.at(-1)})`;
  return digits.length > model.operand_digits
    ? `${digits.length} digits are too many: this model accepts up to ${model.operand_digits}`
    : null;
}

async function ask() {
  current.abort();
  current = new AbortController();
  const { signal } = current,
    question = values(form),
    model = models.get(question.model);
  clearErrors(form);
  if (!model) return refuse("Choose a model.");
  if (model.error) return describe();
  const complaints = ["a", "b"].map((name) => [name, complaint(question[name], model)]).filter(([, text]) => text);
  complaints.forEach(([name, text]) => showError(form, name, text));
  if (complaints.length) return form.elements[complaints[0][0]].focus();
  history.replaceState(null, "", `#ask?${new URLSearchParams(question)}`);
  $("#ask-results").hidden = false;
  const sheet = new AnswerSheet(question, model, (i) => inside.show(i));
  inside.clear();
  try {
    for await (const event of getLines("/api/ask", question, signal)) {
      if (event.problem) sheet.begin(event.problem);
      if (event.waiting) sheet.wait(event.waiting);
      if (event.token) {
        sheet.add(event.token);
        await pause(sheet.digits.length, sheet.problem.truth.length);
      }
      if (signal.aborted) return;
      if (event.error) return sheet.fail(event.error);
      if (event.answer) sheet.finish(event.answer);
    }
    inside.open(question, sheet, signal);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    sheet.fail(showError(form, error.field, error.message) ? "" : error.message);
  }
}

// Waits between digits, so that they appear one by one. Long answers show several at once; digits beyond the truth's
// length appear at once, as some answers do not end.
function pause(written, digits) {
  const atOnce = Math.ceil((FRAME * digits) / WHOLE);
  if (written >= digits || written % atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  return new Promise((done) => setTimeout(done, Math.min(BEAT, (atOnce * WHOLE) / digits)));
}

// Predict: which function a model will learn, why, how often it is right, and an example, updated as you type.
import { getJson } from "./api.js";
import { barChart } from "./bar_chart.js";
import { $, afterPause, clearErrors, h, setValues, showError, values, working } from "./dom.js";
import { exampleForm, exampleOutput, showExample } from "./example.js";

const START = {
  operation: "add",
  modulus: "",
  base: "10",
  train: "D4",
  encoding: "learned",
  layout: "",
  test: "",
};
const STORIES = {
  "Addition ignores digits": {},
  "In theory addition generalizes": { encoding: "coupled" },
  "Modulo 100 is enough": { modulus: "100" },
  "Modulo 101 is not": { modulus: "101" },
  Multiplication: { operation: "mul" },
};
const PAUSE = 120,
  PATIENCE = 250;

const form = $("#predict-form");
// Installed packages may add choices to the form.
const offered = getJson("/api/choices").then(offer, () => {});
let current = new AbortController();
let draw = 0;

$("#example").append(exampleOutput);
$("#example").after(exampleForm);
$("#stories").append(
  ...Object.keys(STORIES).map((name) =>
    h("button", { type: "button", "aria-pressed": "false", onclick: () => choose(name) }, name),
  ),
);
form.addEventListener("input", afterPause(update, PAUSE));
form.addEventListener("submit", (event) => event.preventDefault());
exampleForm.addEventListener("input", afterPause(update, PAUSE));
exampleForm.addEventListener("submit", (event) => event.preventDefault());
$("button", exampleForm).addEventListener("click", another);

function offer({ operations, encodings, layouts }) {
  const missing = (name, values) => {
    const choices = form.querySelectorAll(`[name=${name}] option, input[name=${name}]`);
    const known = new Set([...choices].map((choice) => choice.value));
    return values.filter((value) => !known.has(value));
  };
  for (const name of missing("operation", operations))
    $(".segments", form).append(
      h("label", {}, h("input", { type: "radio", name: "operation", value: name }), h("span", {}, name)),
    );
  for (const [field, names] of Object.entries({ encoding: encodings, layout: layouts }))
    form.elements[field].append(...missing(field, names).map((name) => h("option", { value: name }, name)));
}

export async function enter(state) {
  await offered;
  const wanted = Object.fromEntries(
    Object.keys(START).flatMap((key) => (state.has(key) ? [[key, state.get(key)]] : [])),
  );
  if (Object.keys(wanted).length) setValues(form, { ...START, ...wanted });
  // A link may name a choice that does not exist.
  const unknown = Object.keys(wanted).find((name) => form.elements[name].value !== wanted[name]);
  if (!unknown) return update();
  const problem = { error: `unknown ${unknown} “${wanted[unknown]}”`, field: unknown };
  complain(problem, [$("#learned"), $("#accuracy"), exampleOutput]);
}

export function leave() {
  current.abort();
}

function choose(name) {
  setValues(form, { ...START, ...STORIES[name] });
  exampleForm.reset();
  update();
}

function another() {
  draw += 1;
  exampleForm.reset();
  update();
}

async function update() {
  current.abort();
  current = new AbortController();
  const { signal } = current,
    question = values(form),
    numbers = values(exampleForm),
    { test, ...model } = question;
  const state = new URLSearchParams(Object.entries(question).filter(([key, value]) => value !== START[key]));
  history.replaceState(null, "", `#predict${state.size ? `?${state}` : ""}`);
  for (const button of $("#stories").children) {
    const story = { ...START, ...STORIES[button.textContent] };
    button.setAttribute("aria-pressed", String(Object.keys(story).every((key) => story[key] === question[key])));
  }
  const { problem } = await getJson("/api/check", { ...question, ...numbers }, signal).catch((error) => ({
    problem: { error: error.message, field: error.field },
  }));
  if (signal.aborted) return;
  for (const one of [form, exampleForm]) clearErrors(one);
  if (problem) return complain(problem, [$("#learned"), $("#accuracy"), exampleOutput]);
  show("/api/explain", { ...model, ...numbers, draw }, [$("#learned"), exampleOutput], showLearned);
  show(
    "/api/predict",
    question,
    [$("#accuracy")],
    (reply) => $("#accuracy").replaceChildren(barChart(reply)),
    "Counting exactly",
  );
}

// Shows an error at its field, and a note wherever nothing can be shown because of it.
function complain({ error, field }, places) {
  const atField = [form, exampleForm].some((one) => showError(one, field, error));
  places.forEach((place) => {
    place.classList.remove("stale");
    place.replaceChildren(
      h(
        "p",
        { class: atField ? "note" : "problem" },
        atField ? "Nothing to show until the marked field is corrected." : error,
      ),
    );
  });
}

// Fetches and displays a reply; after a moment it shows that work is in progress.
async function show(path, question, places, display, doing = "") {
  const { signal } = current,
    start = performance.now();
  places.forEach((place) => place.classList.add("stale"));
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - start) / 1000);
    if (!doing || signal.aborted) return clearInterval(timer);
    places[0].classList.remove("stale");
    const note =
      places[0].querySelector(".working span:last-child") ?? places[0].appendChild(working("")).lastChild;
    note.textContent =
      seconds < 2 ? `${doing}…` : `${doing}: ${seconds} s so far, at most 20. A large modulus takes longer.`;
    [...places[0].children].forEach((child) => (child.hidden = !child.classList.contains("working")));
  }, PATIENCE);
  try {
    const reply = await getJson(path, question, signal);
    if (!signal.aborted) display(reply);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    complain({ error: error.message, field: error.field }, places);
  } finally {
    clearInterval(timer);
    if (!signal.aborted) places.forEach((place) => place.classList.remove("stale"));
  }
}

const MARKS = new Map([
  [true, ["yes", "✓ in theory it generalizes"]],
  [false, ["no", "✗ in theory it does not generalize"]],
  [null, ["", "– theory does not say"]],
]);

// The colour of the evidence: all trained models agree with theory, none does, or some do.
function standing(evidence) {
  if (!evidence) return "";
  if (evidence.hold === evidence.seeds) return "yes";
  return evidence.fail && !evidence.hold ? "no" : "wait";
}

function showLearned(reply) {
  const [kind, words] = MARKS.get(reply.generalizes);
  $("#learned").replaceChildren(
    ...[
      h("p", { class: "headline" }, reply.headline),
      reply.formula && h("p", { class: "formula" }, reply.formula),
      h("p", { class: "why" }, h("strong", {}, "Why? "), `${reply.rule}.`),
      reply.measured_words && h("p", { class: "why" }, h("strong", {}, "Measured: "), `${reply.measured_words}.`),
      h(
        "ul",
        { class: "facts" },
        h("li", { class: `pill ${kind}` }, words),
        reply.hypothesis &&
          h("li", { class: "pill" }, reply.within_theorem ? "covered by a theorem" : "beyond the theorems’ premises"),
        reply.measured && h("li", { class: `pill ${standing(reply.evidence)}` }, `measured: ${reply.measured}`),
      ),
    ].filter(Boolean),
  );
  showExample(reply);
}

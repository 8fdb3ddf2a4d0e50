// Runs: the run folders, live while they train; several side by side, seeds together.
import { getJson } from "./api.js";
import { accuracyCard, allDomains, lossCard, usualDomain } from "./curve_cards.js";
import { $, h, working } from "./dom.js";
import { swatch } from "./line_chart.js";
import { byGroup, edition, lastStep, points, readPoints, readVerdicts, title } from "./run_data.js";
import { verdictCard } from "./verdict_card.js";

const EVERY = 2500;
const STATUS = {
  running: ["wait", "running"],
  stopped: ["wait", "stopped"],
  interrupted: ["no", "interrupted"],
  done: ["yes", "done"],
  failed: ["no", "failed"],
  null: ["", "not started"],
};

let runs = new Map(); // by name
let leftOut = 0; // how many more there are
let chosen = new Set(); // names
let isChosenByHand = false;
let timer = null;
let listed = "";
let drawn = "";
let domain = "";

export async function enter(state) {
  if (state.has("run")) chosen = new Set(state.getAll("run"));
  if (!runs.size) $("#run-list").replaceChildren(working("Reading run folders…"));
  clearInterval(timer);
  timer = setInterval(() => document.hidden || refresh(), EVERY);
  await refresh();
}

export function leave() {
  clearInterval(timer);
}

async function refresh() {
  try {
    const { runs: found, left_out: more } = await getJson("/api/runs");
    runs = new Map(found.map((run) => [run.name, run]));
    leftOut = more;
    if (!isChosenByHand && !chosen.size) chosen = new Set(firstReadable(found));
    list();
    await Promise.all(chosenRuns().flatMap((run) => [readPoints(run), readVerdicts(run)]));
    draw();
  } catch (error) {
    listed = "";
    $("#run-list").replaceChildren(h("p", { class: "problem" }, error.message));
  }
}

const firstReadable = (found) =>
  found
    .filter((run) => !run.error)
    .slice(0, 1)
    .map((run) => run.name);

// What was chosen, by a link, and cannot be shown.
const missing = () =>
  [...chosen].flatMap((name) => {
    const run = runs.get(name);
    return run && !run.error ? [] : [`${name} ${run ? run.error : "is not among the runs listed here"}.`];
  });

const chosenRuns = () => [...chosen].map((name) => runs.get(name)).filter((run) => run && !run.error);

function pick(names) {
  isChosenByHand = true;
  chosen = new Set(names);
  const state = new URLSearchParams(names.map((name) => ["run", name]));
  history.replaceState(null, "", `#runs${names.length ? `?${state}` : ""}`);
  refresh();
}

function list() {
  // A list that has not changed stays as it is: someone may be about to click in it.
  const lines = [...runs.values()].map((run) => [run.name, run.status, run.error]);
  const state = JSON.stringify([lines, leftOut, [...chosen]]);
  if (state === listed) return;
  listed = state;
  const place = $("#run-list");
  if (!runs.size) {
    place.replaceChildren(
      h("p", {}, "There are no run folders here yet."),
      h(
        "p",
        { class: "note" },
        "Train one, and watch it here: ",
        h("code", {}, "lengthwise train add --train D2 --size nano"),
      ),
    );
    return;
  }
  const focused = document.activeElement?.closest?.("#run-list") ? document.activeElement.value : null;
  place.replaceChildren(...cutNote(), ...byGroup([...runs.values()]).map(group));
  if (focused !== null) place.querySelector(`input[value="${CSS.escape(focused)}"]`)?.focus();
}

function cutNote() {
  if (!leftOut) return [];
  const [shown, all] = [runs.size, runs.size + leftOut].map((count) => count.toLocaleString("en"));
  const words = `${shown} of ${all} runs are shown: `;
  return [h("p", { class: "note" }, words, h("code", {}, "--runs FOLDER"), " chooses others.")];
}

function group(members) {
  const first = members[0];
  if (first.error)
    return h("div", { class: "run-group" }, h("h3", {}, first.name), h("p", { class: "problem" }, first.error));
  const all =
    members.length > 1
      ? [
          h(
            "button",
            { type: "button", onclick: () => pick(members.map((run) => run.name)) },
            `Compare these ${members.length} seeds`,
          ),
        ]
      : [];
  return h("div", { class: "run-group" }, h("h3", {}, title(first)), members.map(item), all);
}

function item(run) {
  const [kind, word] = STATUS[run.status] ?? STATUS.null;
  return h(
    "label",
    { class: "run-item" },
    h("input", {
      type: "checkbox",
      value: run.name,
      checked: chosen.has(run.name),
      onchange: (event) =>
        pick(event.target.checked ? [...chosen, run.name] : [...chosen].filter((name) => name !== run.name)),
    }),
    h("span", { class: "name" }, run.name, h("br"), `seed ${run.seed}`),
    h("span", { class: `pill ${kind}` }, word),
  );
}

function draw() {
  // What was chosen meanwhile is drawn when it has been read.
  const some = chosenRuns().filter((run) => points.has(run.name));
  if (domain ? !allDomains(some).includes(domain) : some.length > 1) domain = some.length ? usualDomain(some) : "";
  const problems = missing().map((text) => h("div", { class: "card problem" }, text));
  const state = JSON.stringify([some.map(edition), domain, missing()]);
  if (state === drawn) return;
  drawn = state;
  const focused = document.activeElement?.id;
  const cards = some.length
    ? [heading(some), verdictCard(some), accuracyCard(some, domain, chooseDomain), lossCard(some)]
    : runs.size && !problems.length
      ? [h("div", { class: "card" }, "Choose runs to see their results.")]
      : [];
  $("#run-results").replaceChildren(...problems, ...cards);
  if (focused) document.getElementById(focused)?.focus();
}

function chooseDomain(name) {
  domain = name;
  draw();
}

function heading(some) {
  const report = new URLSearchParams(some.map((run) => ["run", run.name]));
  const models = some
    .filter((run) => run.has_model)
    .slice(0, 1)
    .map((run) =>
      h("a", { class: "button", href: `#ask?${new URLSearchParams({ model: run.name })}` }, "Ask this model"),
    );
  return h(
    "section",
    { class: "card", "aria-label": "Chosen runs" },
    h(
      "div",
      { class: "bar-tools" },
      h("a", { class: "button", href: `/report?${report}`, target: "_blank", rel: "noopener" }, "Open the report"),
      some.length === 1 ? models : [],
    ),
    h(
      "ul",
      { class: "run-lines" },
      some.map((run, i) => h("li", {}, some.length > 1 ? swatch(i) : "", `${run.name}: ${progress(run)}`)),
    ),
  );
}

function progress(run) {
  const word = (STATUS[run.status] ?? STATUS.null)[1];
  return `${word}, step ${lastStep(run.name).toLocaleString("en")} of ${run.steps.toLocaleString("en")}`;
}

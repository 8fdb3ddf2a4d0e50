// Runs: training curves and verdicts of the chosen runs, updated while they train; seeds are shown together.
import { getJson } from "./api.js";
import { accuracyCard, allDomains, lossCard, usualDomain } from "./curve_cards.js";
import { $, h, working } from "./dom.js";
import { scale } from "./error_scale.js";
import { swatch } from "./line_chart.js";
import { breakable, edition, lastStep, points, readPoints, readVerdicts, readWords, statusOf } from "./run_data.js";
import { RunList } from "./run_list.js";
import { verdictCard } from "./verdict_card.js";

const EVERY = 2500;
const MOST = 50; // runs compared at once, the same number as in a report

const list = new RunList(pick, keepAddress);
let runs = new Map(); // by name
let leftOut = 0; // number of runs that are not listed
let chosen = new Set(); // names
let tooMany = []; // a message where more than MOST were chosen
let isChosenByHand = false;
let timer = null;
let drawn = "";
let domain = "";

export async function enter(state) {
  if (state.has("run")) chosen = new Set(state.getAll("run"));
  if (state.size) list.filters = state;
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
    if (!isChosenByHand && !chosen.size) chosen = new Set(list.first(found));
    list.show(found, leftOut, chosen);
    await Promise.all(chosenRuns().flatMap((run) => [readPoints(run), readVerdicts(run)]));
    draw();
    await readWords(found, () => list.draw());
  } catch (error) {
    list.fail(error.message);
  }
}

// Messages on runs that a link names and that cannot be shown.
const missing = () =>
  [...chosen].flatMap((name) => {
    const run = runs.get(name);
    return run && !run.error ? [] : [`${name} ${run ? run.error : "is not among the runs listed here"}.`];
  });

const chosenRuns = () => [...chosen].map((name) => runs.get(name)).filter((run) => run && !run.error);

function pick(names) {
  isChosenByHand = true;
  chosen = new Set(names.slice(0, MOST));
  tooMany = names.length > MOST ? [`Only the first ${MOST} of ${names.length} runs are shown: more cannot be compared.`] : [];
  keepAddress();
  list.show([...runs.values()], leftOut, chosen);
  draw();
  refresh();
}

function keepAddress() {
  const state = new URLSearchParams([...list.filters, ...[...chosen].map((name) => ["run", name])]);
  history.replaceState(null, "", `#runs${state.size ? `?${state}` : ""}`);
}

function draw() {
  // Runs chosen since are drawn once their records have been read.
  const some = chosenRuns().filter((run) => points.has(run.name));
  if (domain ? !allDomains(some).includes(domain) : some.length > 1) domain = some.length ? usualDomain(some) : "";
  const told = [...tooMany, ...missing()];
  const problems = told.map((text) => h("div", { class: "card problem" }, text));
  const state = JSON.stringify([some.map(edition), domain, scale.isLog, told]);
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
  const [model] = some.length === 1 && some[0].has_model ? some : [];
  return h(
    "section",
    { class: "card", "aria-label": "Chosen runs" },
    h(
      "div",
      { class: "bar-tools" },
      h("a", { class: "button", href: `/report?${report}`, target: "_blank", rel: "noopener" }, "Open the report"),
      model
        ? h("a", { class: "button", href: `#ask?${new URLSearchParams({ model: model.name })}` }, "Ask this model")
        : null,
      h("button", { type: "button", onclick: () => pick([]) }, "Choose none"),
    ),
    h(
      "ul",
      { class: "run-lines" },
      some.map((run, i) =>
        h("li", {}, some.length > 1 ? swatch(i) : null, h("span", {}, ...breakable(run.name), `: ${progress(run)}`)),
      ),
    ),
  );
}

// Training may end before its last step: it cools down once the training domain is learned.
function progress(run) {
  const [last, most] = [lastStep(run.name), run.steps].map((steps) => steps.toLocaleString("en"));
  if (run.status !== "done") return `${statusOf(run)[1]}, step ${last} of at most ${most}`;
  return last === most ? `done, ${last} steps` : `done, ${last} of at most ${most} steps`;
}

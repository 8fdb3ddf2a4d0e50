// The list of runs, with search and filters: one folding group per question, the seeds of a setting side by side.
import { $, h } from "./dom.js";
import {
  breakable,
  byQuestion,
  bySetting,
  folder,
  lastPart,
  question,
  questionWords,
  statusOf,
  VERDICTS,
  withoutSeed,
  words,
} from "./run_data.js";

const NO_VERDICT = "none";
const BROKEN = "cannot be read";
const FEW = 10;
const form = $("#run-filters");
const place = $("#run-list");

const verdictOf = (run) => (words.has(run.name) ? (words.get(run.name) ?? NO_VERDICT) : null);

// The values of a run that each filter compares with.
const FILTERS = {
  task: (run) => [`${run.task}${run.base === 10 ? "" : ` in base ${run.base}`}`],
  encoding: (run) => [run.encoding],
  recipe: (run) => run.recipes,
  verdict: (run) => [verdictOf(run)],
};

export class RunList {
  // `pick` is called with the chosen names, `filtered` after the filters have changed.
  constructor(pick, filtered) {
    this.pick = pick;
    this.runs = [];
    this.unfolded = new Set(); // questions
    this.groups = new Map(); // those drawn, by question
    this.seen = new Set(); // questions with chosen runs
    form.addEventListener("input", () => {
      this.draw();
      filtered();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => form.dispatchEvent(new Event("input"))));
    place.addEventListener("keydown", (event) => event.key === "Escape" && fold(event.target));
  }

  // The filters that are set, as [name, value].
  get filters() {
    return [...new FormData(form)].filter(([, value]) => value);
  }

  // Set from a link. A value that no run has is offered too, so that one sees why nothing matches.
  set filters(state) {
    for (const name of ["search", ...Object.keys(FILTERS)]) {
      const field = form.elements[name],
        value = state.get(name) ?? "";
      if (field.options && ![...field.options].some((option) => option.value === value))
        field.append(h("option", { value }, value));
      field.value = value;
    }
  }

  show(runs, leftOut, chosen) {
    Object.assign(this, { runs, leftOut, chosen: new Set(chosen) });
    const asked = runs.filter((run) => chosen.has(run.name) && !run.error).map(question);
    // Runs that were chosen elsewhere, as by a link, are scrolled into view.
    const unseen = asked.filter((key) => !this.seen.has(key));
    this.seen = new Set(asked);
    this.draw(unseen);
    const group = this.groups.get(unseen[0]);
    if (group) place.scrollTop += group.getBoundingClientRect().top - place.getBoundingClientRect().top;
  }

  // The names to choose at first: the seeds of the first setting in the list.
  first(runs) {
    this.runs = runs;
    const [members = []] = this.questions();
    const [seeds = []] = bySetting(members);
    return seeds.slice(0, seeds.length > FEW ? 1 : FEW).map((run) => run.name);
  }

  fail(message) {
    this.drawn = null;
    place.replaceChildren(h("p", { class: "problem" }, message));
  }

  draw(unfold = []) {
    // An unchanged list is not redrawn: someone may be about to click in it.
    const lines = this.runs.map((run) => [run.name, run.status, run.error, verdictOf(run)]);
    const state = JSON.stringify([lines, this.leftOut, [...this.chosen], this.filters]);
    if (state === this.drawn) return;
    this.drawn = state;
    this.remember();
    for (const key of unfold) this.unfolded.add(key);
    form.hidden = !this.runs.length;
    this.offer();
    const broken = this.found().filter((run) => run.error),
      questions = this.questions();
    $("#run-count").replaceChildren(...this.count(questions));
    const focused = focusedIn(place);
    place.replaceChildren(
      ...(this.runs.length ? [] : nothing()),
      ...questions.map((members) => this.question(members, questions.length === 1)),
      ...(broken.length ? [this.broken(broken)] : []),
    );
    focused?.();
  }

  // Keeps which groups are open. The page itself is asked, as an element's toggle event may come after a redraw.
  remember() {
    for (const [key, element] of this.groups) this.unfolded[element.open ? "add" : "delete"](key);
    this.groups.clear();
  }

  // Fills the filters with their choices and the number of runs for each.
  offer() {
    for (const [name, valuesOf] of Object.entries(FILTERS)) {
      const select = form.elements[name],
        chosen = select.value;
      const values = this.runs.filter((run) => !run.error).flatMap(valuesOf).filter((value) => value !== null);
      const counts = new Map([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
      if (chosen && !counts.has(chosen)) counts.set(chosen, 0);
      const options = [...counts].sort(([one], [other]) => natural(one, other));
      select.replaceChildren(
        h("option", { value: "" }, "all"),
        ...options.map(([value, count]) => h("option", { value }, `${value} (${count})`)),
      );
      select.value = chosen;
    }
  }

  found() {
    const filters = Object.fromEntries(this.filters);
    return this.runs.filter((run) => matches(run, filters));
  }

  // Questions in the order of the folders given, so one's own runs come first; within a folder, by name.
  questions() {
    const readable = this.found().filter((run) => !run.error);
    const roots = [...new Set(this.runs.map((run) => root(run.name)))];
    const first = (members) => Math.min(...members.map((run) => roots.indexOf(root(run.name))));
    return byQuestion(readable).sort(
      (one, other) => first(one) - first(other) || natural(question(one[0]), question(other[0])),
    );
  }

  count(questions) {
    if (!this.runs.length) return [];
    const found = this.found(),
      total = this.runs.length + this.leftOut;
    const some = found.length < total ? `${number(found.length)} of ` : "";
    const shown = `${some}${many(total, "run")}, ${many(questions.length, "question")}`;
    const left = this.runs.filter((run) => !run.error && !words.has(run.name)).length;
    return [
      h("span", {}, shown, left ? `; ${number(left)} not judged yet` : ""),
      this.leftOut
        ? h("span", {}, `${number(this.runs.length)} are listed: `, h("code", {}, "--runs FOLDER"), " chooses others.")
        : null,
      this.filters.length ? h("button", { type: "reset", form: form.id, class: "small" }, "Clear filters") : null,
    ].filter(Boolean);
  }

  question(members, isOnly) {
    const key = question(members[0]),
      [task, ...others] = questionWords(members[0]).split(", ");
    const chosen = members.filter((run) => this.chosen.has(run.name)).length;
    const summary = h(
      "summary",
      {},
      h("span", { class: "asked" }, `${task}, ${others.shift()}`),
      h("span", { class: "how-many" }, many(members.length, "run")),
      h("span", { class: "positions" }, others.join(", "), chosen ? h("b", {}, ` · ${chosen} chosen`) : null),
      h("span", { class: "tally" }, ...tally(members)),
    );
    return this.folded(key, summary, () => bySetting(members).map((some) => this.setting(some)), isOnly);
  }

  broken(members) {
    const lines = () =>
      members.map((run) =>
        h(
          "div",
          { class: "setting" },
          h("p", { class: "name" }, ...breakable(run.name)),
          h("p", { class: "problem" }, run.error),
        ),
      );
    return this.folded(BROKEN, h("summary", {}, h("span", { class: "asked" }, `${members.length} ${BROKEN}`)), lines);
  }

  // A folding group; its content is built when it is first opened.
  folded(key, summary, content, isOnly = false) {
    const body = h("div", { class: "settings" });
    const element = h("details", { class: "question", "data-key": key }, summary, body);
    const fill = () => body.childElementCount || body.append(...content());
    element.open = isOnly || this.unfolded.has(key);
    if (element.open) fill();
    element.addEventListener("toggle", () => element.open && fill());
    if (!isOnly) this.groups.set(key, element);
    return element;
  }

  // Runs that differ only in their seed.
  setting(members) {
    const names = members.map((run) => run.name),
      rows = new Set(members.map(withoutSeed));
    const isRow = rows.size === 1 && new Set(members.map((run) => run.seed)).size === members.length;
    const where = [...new Set(names.map(folder))].join(", ");
    const told = [where, members[0].setting].filter(Boolean).join(": ");
    const about = h("small", { title: told }, ...breakable(told));
    const title = members.length > 1 && isRow ? [...rows][0] : members.length > 1 ? `${members.length} runs` : "";
    return h(
      "div",
      { class: "setting", role: "group", "aria-label": title || lastPart(names[0]) },
      h("div", { class: "row" }, title ? this.all(names, title) : this.seed(members[0]), this.only(names)),
      title ? h("div", { class: "seeds" }, members.map((run) => this.seed(run, isRow))) : null,
      about,
    );
  }

  all(names, title) {
    const some = names.filter((name) => this.chosen.has(name)).length;
    const others = [...this.chosen].filter((name) => !names.includes(name));
    const box = h("input", {
      type: "checkbox",
      value: `all ${names[0]}`,
      "aria-label": `all ${names.length} seeds of ${title}`,
      checked: some === names.length,
      onchange: (event) => this.pick(event.target.checked ? [...others, ...names] : others),
    });
    box.indeterminate = some > 0 && some < names.length;
    return h("label", { class: "run-item" }, box, h("span", { class: "name" }, ...breakable(title)));
  }

  seed(run, isShort = false) {
    const [kind, status] = statusOf(run),
      word = verdictOf(run);
    const [signKind, sign] = VERDICTS[word] ?? ["", ""];
    const others = [...this.chosen].filter((name) => name !== run.name);
    return h(
      "label",
      { class: isShort ? "run-item seed" : "run-item" },
      h("input", {
        type: "checkbox",
        value: run.name,
        "aria-label": [run.name, `seed ${run.seed}`, status, word ?? ""].filter(Boolean).join(", "),
        checked: this.chosen.has(run.name),
        onchange: (event) => this.pick(event.target.checked ? [...others, run.name] : others),
      }),
      h("span", { class: "name", title: run.name }, ...(isShort ? [`seed ${run.seed}`] : breakable(lastPart(run.name)))),
      run.status === "done"
        ? h("span", { class: `sign ${signKind}`, title: word ?? "" }, sign)
        : h("span", { class: `pill ${kind}` }, status),
    );
  }

  only(names) {
    const label = names.length > 1 ? `only these ${names.length}` : "only this";
    const onclick = () => this.pick(names);
    return h("button", { type: "button", class: "small", value: `only ${names[0]}`, onclick }, label);
  }
}

const number = (count) => count.toLocaleString("en");
const many = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const natural = (one, other) => one.localeCompare(other, "en", { numeric: true });
const root = (name) => name.split("/")[0];

// Whether a run contains every word searched for and passes every filter that is set.
function matches(run, { search = "", ...filters }) {
  const told = [run.name, run.error ?? questionWords(run), run.setting, ...run.recipes, `seed ${run.seed}`];
  const text = told.join(" ").toLowerCase();
  return (
    search.toLowerCase().split(/\s+/).every((word) => text.includes(word)) &&
    Object.entries(filters).every(([name, value]) => !run.error && FILTERS[name](run).includes(value))
  );
}

function tally(members) {
  const unfinished = Map.groupBy(members.filter((run) => run.status !== "done"), (run) => statusOf(run)[1]);
  const judged = Object.entries(VERDICTS).flatMap(([word, [kind, sign, verb]]) => {
    const count = members.filter((run) => words.get(run.name) === word).length;
    const told = `${count} ${verb}`;
    return count
      ? [h("span", { class: `sign ${kind}`, title: told, role: "img", "aria-label": told }, `${sign} ${count}`)]
      : [];
  });
  const others = [...unfinished].map(([status, some]) =>
    h("span", { class: "pill wait" }, `${some.length} ${status}`),
  );
  return [...others, ...judged];
}

function nothing() {
  return [
    h("p", {}, "There are no run folders here yet."),
    h(
      "p",
      { class: "note" },
      "Train one, and watch it here: ",
      h("code", {}, "lengthwise train add --train D2 --size nano"),
    ),
  ];
}

function fold(element) {
  const group = element.closest("details[open]");
  if (!group) return;
  group.open = false;
  $("summary", group).focus();
}

// A function that gives the focus back to the element that has it now, once the list is redrawn.
function focusedIn(list) {
  const element = document.activeElement;
  if (!list.contains(element)) return null;
  const key = element.closest("details")?.dataset.key;
  const selector = element.value ? `[value="${CSS.escape(element.value)}"]` : "summary";
  return () => $(`details[data-key="${CSS.escape(key ?? "")}"]`, list)?.querySelector(selector)?.focus();
}

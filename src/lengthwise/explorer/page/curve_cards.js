// Curves of the chosen runs over training: accuracy on each test domain, and the loss.
import { h, percent } from "./dom.js";
import { oneIn, scale, scaleChoice } from "./error_scale.js";
import { lineChart, look, swatch } from "./line_chart.js";
import { domains, exact, labels, losses } from "./run_data.js";

// The domain to show at first: all domains of a single run; for several runs, the first one's training domain.
export function usualDomain(some) {
  if (some.length === 1) return "";
  const measured = some.map((run) => domains(run.name));
  const common = measured[0].filter((name) => measured.every((own) => own.includes(name)));
  return common.includes(some[0].train) ? some[0].train : (common.at(-1) ?? measured.flat()[0] ?? "");
}

export const allDomains = (some) => [...new Set(some.flatMap((run) => domains(run.name)))];

// An empty `domain` means all domains of a single run.
export function accuracyCard(some, domain, choose) {
  const measured = allDomains(some);
  const body = measured.length
    ? [
        h("div", { class: "bar-tools" }, domainChoice(some, measured, domain, choose), scaleChoice(() => choose(domain))),
        ...lacking(some, domain),
        ...accuracyCurves(some, measured, domain),
      ]
    : [h("p", { class: "note" }, "Nothing measured yet.")];
  return h("section", { class: "card" }, h("h2", {}, "Accuracy during training"), body);
}

function domainChoice(some, measured, domain, choose) {
  const options = [...(some.length === 1 ? [["", "all"]] : []), ...measured.map((name) => [name, name])];
  const select = h(
    "select",
    { id: "domain", onchange: (event) => choose(event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: value === domain }, text)),
  );
  return h("label", { for: "domain" }, "tested on", select);
}

// A note that names the runs without a curve on this domain.
function lacking(some, domain) {
  const names = labels(some);
  const without = domain ? some.filter((run) => !domains(run.name).includes(domain)) : [];
  if (!without.length) return [];
  const told = `Not tested on ${domain}: ${without.map((run) => names.get(run.name)).join(", ")}.`;
  return [h("p", { class: "note lacking" }, told)];
}

function accuracyCurves(some, measured, domain) {
  const chart = scale.isLog ? errorChart : accuracyChart;
  const names = labels(some);
  if (domain)
    return [
      chart(some.map((run, i) => ({ label: names.get(run.name), look: look(i), points: exact(run.name, domain) }))),
    ];
  const [{ name, train }] = some;
  const lines = measured.map((own, i) => ({
    label: own === train ? `${own} (trained on)` : own,
    look: look(i),
    points: exact(name, own),
  }));
  const keys = lines.map((line, i) => h("li", {}, swatch(i), line.label));
  return [chart(lines), h("ul", { class: "legend" }, keys)];
}

const accuracyChart = (lines) =>
  lineChart({ label: "Accuracy", title: "right answers (%)", lines, format: (y) => `${percent(100 * y)} %` });

function errorChart(lines) {
  const errors = lines.map((line) => ({ ...line, points: line.points.map(([x, y]) => [x, 1 - y]) }));
  return lineChart({ label: "Errors", title: "wrong answers (log scale)", lines: errors, log: true, format: oneIn });
}

export function lossCard(some) {
  const names = labels(some);
  const lines = some
    .map((run, i) => ({ label: some.length > 1 ? names.get(run.name) : "loss", look: look(i), points: losses(run.name) }))
    .filter((line) => line.points.length);
  const body = lines.length
    ? lineChart({ label: "Training loss", title: "loss (log scale)", lines, log: true, format: (y) => y.toPrecision(3) })
    : h("p", { class: "note" }, "Nothing recorded yet.");
  return h("section", { class: "card" }, h("h2", {}, "Loss"), body);
}

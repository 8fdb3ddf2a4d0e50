// Verdicts as tables: one row per test domain, seeds of one config together.
import { h, percent } from "./dom.js";
import { byGroup, title, verdicts } from "./run_data.js";

const NAMES =
  "In % of problems. Accuracy: answered as arithmetic does; predicted accuracy: that of the predicted function, " +
  "exactly; agreement: answered as the predicted function does, right or wrong.";
const SIGNS = { holds: ["yes", "✓ holds"], fails: ["no", "✗ fails"], undecided: ["wait", "? undecided"] };

export function verdictCard(some) {
  return h("section", { class: "card" }, h("h2", {}, "Did the prediction hold?"), [
    ...byGroup(some).flatMap(verdictTable),
    h("p", { class: "note" }, NAMES),
  ]);
}

function verdictTable(members) {
  const judged = members.map((run) => verdicts.get(run.name)?.reply).filter((reply) => reply?.verdicts.length);
  if (!judged.length) {
    const { reply, error } = verdicts.get(members[0].name) ?? {};
    return h(
      "p",
      { class: "note" },
      `${title(members[0])}: not judged yet (${reply?.why ?? error ?? "being read"})`,
    );
  }
  const rows = judged[0].verdicts.map((first) => {
    const same = judged.flatMap((reply) => reply.verdicts.filter((verdict) => verdict.domain === first.domain));
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, first.domain),
      h("td", {}, tally(same.map((v) => v.verdict))),
      h("td", {}, percent(first.percent)),
      h("td", {}, spread(same.map((v) => v.measured.percent))),
      h("td", {}, spread(same.flatMap((v) => (v.agreement ? [v.agreement.percent] : [])))),
      h("td", {}, first.hypothesis ?? "–"),
    );
  });
  const name =
    judged.length > 1
      ? `${title(members[0])}, ${judged.length} seeds: mean (lowest to highest)`
      : `${title(members[0])}: ${members[0].name}`;
  const head = ["test on", "verdict", "predicted accuracy %", "accuracy %", "agreement %", "computes"].map((text) =>
    h("th", { scope: "col" }, text),
  );
  return [
    h("h3", { class: "verdict-title" }, name),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": `Verdicts on ${name}` },
      h("table", { class: "rows" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    ),
    ...judged[0].functions.map((text) => h("p", { class: "note" }, text)),
  ];
}

function spread(shares) {
  if (!shares.length) return "–";
  const mean = shares.reduce((sum, x) => sum + x, 0) / shares.length;
  const [low, high] = [Math.min(...shares), Math.max(...shares)];
  return shares.length > 1 && low !== high
    ? `${percent(mean)} (${percent(low)} to ${percent(high)})`
    : percent(mean);
}

function tally(words) {
  const counts = [...Map.groupBy(words.filter(Boolean), (word) => word)];
  if (!counts.length) return "–";
  return h(
    "span",
    {},
    counts.map(([word, some]) =>
      h(
        "span",
        { class: `pill ${SIGNS[word][0]}` },
        words.length > 1 ? `${SIGNS[word][1]} ${some.length}/${words.length}` : SIGNS[word][1],
      ),
    ),
  );
}

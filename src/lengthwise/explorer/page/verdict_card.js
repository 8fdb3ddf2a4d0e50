// Verdicts as tables: one row per test domain, seeds of one config together.
import { h, percent } from "./dom.js";
import { breakable, bySetting, lastPart, questionWords, VERDICTS, verdicts } from "./run_data.js";

const NAMES =
  "In % of problems. Accuracy: answers that are correct. Predicted accuracy: how often the function that theory " +
  "predicts is correct. Agreement: answers equal to that function’s, right or wrong; it decides the verdict. " +
  "A prediction holds where agreement is at least 99 % (the lower end of its 95 % interval).";

export function verdictCard(some) {
  return h("section", { class: "card" }, h("h2", {}, "Did the prediction hold?"), [
    ...bySetting(some).flatMap(verdictTable),
    h("p", { class: "note" }, NAMES),
  ]);
}

function verdictTable(members) {
  const judged = members.map((run) => verdicts.get(run.name)?.reply).filter((reply) => reply?.verdicts.length);
  const asked = questionWords(members[0]);
  if (!judged.length) {
    const { reply, error } = verdicts.get(members[0].name) ?? {};
    return h("p", { class: "note" }, `${asked}: not judged yet (${reply?.why ?? error ?? "being read"})`);
  }
  const all = judged.flatMap((reply) => reply.verdicts);
  const rows = [...Map.groupBy(all, (verdict) => verdict.domain).values()].map((same) => {
    const [first] = same;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, first.domain, same.length < judged.length ? few(same.length) : null),
      h("td", {}, tally(same.map((v) => v.verdict))),
      h("td", {}, first.percent === 100 && first.accuracy !== "1" ? "<100" : percent(first.percent)),
      h("td", {}, spread(same.map((v) => v.measured.percent))),
      h("td", {}, spread(same.flatMap((v) => (v.agreement ? [v.agreement.percent] : [])))),
      h("td", {}, first.hypothesis ?? "–"),
    );
  });
  const seeds =
    judged.length > 1 ? `, ${judged.length} seeds: mean (lowest to highest)` : `: ${lastPart(members[0].name)}`;
  const name = `${asked}${seeds}`;
  const head = ["tested on", "verdict", "predicted accuracy %", "accuracy %", "agreement %", "function"].map((text) =>
    h("th", { scope: "col" }, text),
  );
  return [
    h("h3", { class: "verdict-title" }, ...breakable(name)),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": `Verdicts on ${name}` },
      h("table", { class: "rows" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    ),
    ...judged[0].functions.map((text) => h("p", { class: "note" }, text)),
  ];
}

// The number of seeds tested on a domain, where it is not all of them.
const few = (count) => h("small", {}, ` (${count} seed${count === 1 ? "" : "s"})`);

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
    counts.map(([word, some]) => {
      const [kind, sign] = VERDICTS[word],
        share = words.length > 1 ? ` ${some.length}/${words.length}` : "";
      return h("span", { class: `pill ${kind}` }, `${sign} ${word}${share}`);
    }),
  );
}

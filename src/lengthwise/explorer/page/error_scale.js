// Wrong answers on a logarithmic axis, where 99.99 % and 100 % accuracy are far apart.
import { h } from "./dom.js";

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (exponent) => `10${[...String(exponent)].map((digit) => SUPERSCRIPTS[digit]).join("")}`;

// A share of wrong answers in words: "1 in 10,000".
export function oneIn(errors) {
  if (errors === 0) return "0";
  if (errors > 0.1) return `${Number((100 * errors).toPrecision(3))} %`;
  const [lead, exponent] = (1 / errors).toExponential(1).split("e+");
  return exponent < 6
    ? `1 in ${Math.round(1 / errors).toLocaleString("en")}`
    : `1 in ${lead === "1.0" ? "" : `${lead}×`}${power(exponent)}`;
}

// A whole power of ten below 1, at an axis.
export const decade = (exponent) =>
  exponent === 0 ? "all" : exponent === -1 ? "1 in 10" : `1 in ${power(-exponent)}`;

// Whether charts show right or wrong answers; one choice holds for all charts.
export const scale = { isLog: false };

export function scaleChoice(changed) {
  const choice = (isLog, text) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "scale",
        id: isLog ? "scale-wrong" : "scale-right",
        checked: scale.isLog === isLog,
        onchange: () => {
          scale.isLog = isLog;
          changed();
        },
      }),
      h("span", {}, text),
    );
  return h(
    "div",
    { class: "segments scale", role: "group", "aria-label": "What the chart shows" },
    choice(false, "right answers"),
    choice(true, "wrong, log scale"),
  );
}

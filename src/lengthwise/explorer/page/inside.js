// Where a digit of an answer comes from: what the model attended to, and which digits change it when replaced.
import { getJson } from "./api.js";
import { h } from "./dom.js";

const NAMED = { "[bos]": "start", "[eos]": "end", "\n": "¶" };

export class Inside {
  constructor(place) {
    this.place = place;
    this.clear();
  }

  clear() {
    this.chosen = null;
    this.attention = this.dependence = this.problem = this.sheet = null;
    this.layer = null;
    this.place.replaceChildren(h("p", { class: "note" }, "Ask, then point at a digit of the answer."));
  }

  // `sheet` holds the tokens of the answer and marks the selected one.
  async open(question, sheet, signal) {
    const { tokens } = sheet;
    Object.assign(this, { tokens, sheet });
    const first = tokens.findIndex((token) => token.kind === "digit");
    if (first < 0) return;
    this.show(this.chosen ?? first);
    try {
      this.attention = await getJson("/api/attention", question, signal);
      this.layer ??= this.attention.sharpest;
      if (!signal.aborted) this.draw();
      if (this.attention.no_dependence) return;
      this.dependence = (await getJson("/api/dependence", question, signal)).causes;
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      this.problem = error.message;
    }
    if (!signal.aborted) this.draw();
  }

  show(index) {
    this.chosen = index;
    this.sheet?.select(index);
    this.draw();
  }

  draw() {
    if (!this.tokens || this.chosen === null) return;
    const token = this.tokens[this.chosen];
    const likely = token.alternatives.map(
      ([text, share]) =>
        `${NAMED[text] ?? text} (${share > 0.9999 ? "over 99.99" : share < 0.0001 ? "under 0.01" : (100 * share).toFixed(2)} %)`,
    );
    const parts = [
      h(
        "div",
        { class: "alternatives" },
        h(
          "p",
          { "aria-live": "polite" },
          "The digit ",
          h("strong", {}, token.text),
          ` was the likeliest: ${likely.join(", ")}.`,
        ),
        this.neighbour("‹", "The digit to the left", -1),
        this.neighbour("›", "The digit to the right", 1),
      ),
    ];
    const focused = document.activeElement?.getAttribute("aria-label");
    if (this.problem) parts.push(h("p", { class: "problem" }, this.problem));
    parts.push(...this.dependencePart(), ...this.attentionPart());
    const isInside = this.place.contains(document.activeElement);
    this.place.replaceChildren(...parts);
    if (isInside && focused) this.place.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  }

  neighbour(text, label, step) {
    const index = this.sheet?.beside(this.chosen, step);
    const onclick = () => this.show(index),
      disabled = index === undefined;
    return h("button", { type: "button", class: "small", "aria-label": label, disabled, onclick }, text);
  }

  dependencePart() {
    const head = h("div", { class: "inside-head" }, h("h3", {}, "It depends on"));
    const no = this.attention?.no_dependence;
    if (no) return [head, h("p", { class: "note" }, `${no[0].toUpperCase()}${no.slice(1)}.`)];
    if (!this.dependence)
      return this.problem
        ? []
        : [h("p", { class: "note", role: "status" }, "Replacing digits, to see what changes…")];
    const all = this.dependence.toReversed().map((cause) => ({
      text: cause.digit,
      share: cause.changes[this.chosen],
      name: placeName(cause.operand, cause.significance),
      place: `${cause.operand} ${cause.significance}`,
      operand: cause.operand,
    }));
    const isShort = areMany(all);
    const lists = ["a", "b"].map((name) => shareList(all.filter(({ operand }) => operand === name), isShort));
    const rest = all.length - worthTelling(all).length;
    return [
      head,
      ...lists,
      h(
        "p",
        { class: "note" },
        "How often (in %) this digit of the answer changes when that digit is replaced by another. ",
        isShort
          ? `Above a digit is its position, counted from the right. The other ${rest} digits never change it.`
          : "Without a number: never.",
      ),
    ];
  }

  attentionPart() {
    if (!this.attention) return [];
    const all = this.attended(),
      isShort = areMany(all),
      nothing = this.attention.nothing?.[this.layer][this.chosen] ?? 0;
    return [
      h(
        "div",
        { class: "inside-head" },
        h("h3", {}, "It attends to"),
        h("label", { for: "layer" }, "layer", this.layerChoice()),
      ),
      shareList(all, isShort),
      h(
        "p",
        { class: "note" },
        isShort
          ? "Tokens with at least 1 % of its attention (averaged over heads), in the order read and written."
          : "Every token that the model had read or written before, in that order, with its attention in % (averaged over heads).",
        isWorthTelling(nothing)
          ? ` ${(100 * nothing).toFixed(0)} % of its attention has no effect: it is on the null key (an attention sink), or clipped.`
          : "",
        isShort ? ` The other ${others(all, nothing)}.` : "",
      ),
    ];
  }

  // The tokens before the chosen one, each with its attention weight.
  attended() {
    const { layers, tokens, places, prompt_length: read } = this.attention;
    const weights = new Map(layers[this.layer][this.chosen]);
    return tokens.slice(0, read + this.chosen).map((text, i) => ({
      text: NAMED[text] ?? text,
      share: weights.get(i) ?? 0,
      name: places[i] ? placeName(...places[i]) : `token ${i + 1}`,
      place: places[i] ? places[i].join(" ") : i < read ? "" : `out ${i - read + 1}`,
    }));
  }

  layerChoice() {
    const { layers, sharpest } = this.attention;
    const choose = (event) => {
      this.layer = Number(event.target.value);
      this.draw();
      document.querySelector("#layer").focus();
    };
    const note = (i) => (layers.length > 1 && i === sharpest ? ", the sharpest" : "");
    const name = (i) => `${i + 1} of ${layers.length}${note(i)}`;
    return h(
      "select",
      { id: "layer", onchange: choose },
      layers.map((_, i) => h("option", { value: i, selected: i === this.layer }, name(i))),
    );
  }
}

const placeName = (operand, significance) =>
  `digit ${significance} of the ${operand === "a" ? "first" : "second"} number`;

// The attention left for the tokens that are not listed; little where attention is sharp.
function others(all, nothing) {
  const told = worthTelling(all),
    percent = 100 * (1 - told.reduce((sum, { share }) => sum + share, nothing));
  const left = percent < 0.5 ? "have less than 1 % together" : `share the remaining ${percent.toFixed(0)} %`;
  return `${all.length - told.length} tokens ${left}`;
}

// Tokens with their shares, as of attention. A long list shows only shares of at least 1 %, with their positions.

const MANY = 80;
const LEAST = 0.01;

// An item is { text, share, name, place }: `name` tells screen readers where it stands, `place` is short.
export const areMany = (items) => items.length > MANY;
export const isWorthTelling = (share) => share >= LEAST;
export const worthTelling = (items) => items.filter(({ share }) => isWorthTelling(share));

export function shareList(items, isShort) {
  return h("div", { class: "tokens" }, (isShort ? worthTelling(items) : items).map((item) => token(item, isShort)));
}

function token({ text, share, name, place }, isShort) {
  const element = h(
    "span",
    {
      class: share > 0.15 ? "token strong" : "token",
      role: "img",
      "aria-label": `${name}, ${text}: ${Math.round(100 * share)} %`,
    },
    isShort ? h("small", { class: "place", "aria-hidden": "true" }, place) : null,
    text,
    h("small", { "aria-hidden": "true" }, share < 0.005 ? "" : String(Math.round(100 * share))),
  );
  element.style.setProperty("--share", share);
  return element;
}

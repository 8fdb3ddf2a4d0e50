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
    this.attention = this.dependence = this.problem = null;
    this.layer = null;
    this.place.replaceChildren(h("p", { class: "note" }, "Ask, then point at a digit of the answer."));
  }

  // `tokens` are those of the answer; `selected` is told which one is looked at.
  async open(question, tokens, signal, selected) {
    Object.assign(this, { tokens, selected });
    const first = tokens.findIndex((token) => token.kind === "digit");
    if (first < 0) return;
    this.show(this.chosen ?? first);
    try {
      this.attention = await getJson("/api/attention", question, signal);
      this.layer ??= this.attention.sharpest;
      if (!signal.aborted) this.draw();
      this.dependence = (await getJson("/api/dependence", question, signal)).causes;
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      this.problem = error.message;
    }
    if (!signal.aborted) this.draw();
  }

  show(index) {
    this.chosen = index;
    this.selected?.(index);
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
        "p",
        { class: "alternatives", "aria-live": "polite" },
        "The digit ",
        h("strong", {}, token.text),
        ` was the likeliest: ${likely.join(", ")}.`,
      ),
    ];
    if (this.problem) parts.push(h("p", { class: "problem" }, this.problem));
    parts.push(...this.dependencePart(), ...this.attentionPart());
    this.place.replaceChildren(...parts);
  }

  dependencePart() {
    if (!this.dependence)
      return this.problem
        ? []
        : [h("p", { class: "note", role: "status" }, "Replacing digits, to see what changes…")];
    const digits = (name) =>
      this.dependence
        .filter((cause) => cause.operand === name)
        .reverse()
        .map((cause) =>
          this.token(
            cause.digit,
            cause.changes[this.chosen],
            `digit ${cause.significance} of the ${name === "a" ? "first" : "second"} number`,
          ),
        );
    return [
      h("div", { class: "inside-head" }, h("h3", {}, "It depends on")),
      h("div", { class: "tokens" }, digits("a")),
      h("div", { class: "tokens" }, digits("b")),
      h(
        "p",
        { class: "note" },
        "The share of replacements of a digit that change this digit of the answer. No number: it never changes.",
      ),
    ];
  }

  attentionPart() {
    if (!this.attention) return [];
    const { layers, sharpest, tokens, prompt_length: read } = this.attention;
    const weights = layers[this.layer][this.chosen];
    const choose = h(
      "select",
      {
        id: "layer",
        onchange: (event) => {
          this.layer = Number(event.target.value);
          this.draw();
          document.querySelector("#layer").focus();
        },
      },
      layers.map((_, i) => h("option", { value: i, selected: i === this.layer }, `${i + 1} of ${layers.length}${i === sharpest ? ", the sharpest" : ""}`)),
    );
    const shown = tokens
      .slice(0, read + this.chosen)
      .map((text, i) => this.token(NAMED[text] ?? text, weights[i], `place ${i + 1}`));
    return [
      h(
        "div",
        { class: "inside-head" },
        h("h3", {}, "It attends to"),
        h("label", { for: "layer" }, "layer", choose),
      ),
      h("div", { class: "tokens" }, shown),
      h(
        "p",
        { class: "note" },
        "All that the model had read and written before, in that order, with its attention in % (averaged over heads).",
      ),
    ];
  }

  token(text, share, name = "") {
    const number = share === null || share < 0.005 ? "" : String(Math.round(100 * share));
    const element = h(
      "span",
      {
        class: share > 0.15 ? "token strong" : "token",
        role: share === null ? null : "img",
        "aria-label": share === null ? null : `${name}, ${text}: ${Math.round(100 * share)} %`,
      },
      text,
      h("small", { "aria-hidden": "true" }, number),
    );
    element.style.setProperty("--share", share ?? 0);
    return element;
  }
}

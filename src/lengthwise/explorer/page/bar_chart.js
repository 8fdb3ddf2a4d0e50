// Predicted accuracy by length: bars, the paper's approximation as diamonds, and the exact fraction when pointed at.
import { h, s } from "./dom.js";
import { decade, oneIn, scale, scaleChoice } from "./error_scale.js";

const HEIGHT = 312,
  TOP = 52,
  BOTTOM = 78,
  LEFT = 64,
  NARROWEST = 26;
const LONGEST_FRACTION = 70,
  LETTER = 9;

export function barChart({ rows, trained_length: trained, functions }) {
  const readout = h(
    "p",
    { class: "readout", "aria-live": "polite" },
    "Point at a bar, or move to it with Tab, for the exact value.",
  );
  const place = h("div", { class: "chart" });
  const draw = () =>
    place.replaceChildren(
      picture(rows, trained, Math.max(place.clientWidth, LEFT + rows.length * NARROWEST), readout),
    );
  new ResizeObserver(draw).observe(place);
  return h("div", {}, scaleChoice(draw), place, legend(rows), readout, table(rows, functions));
}

// A scale: the height of a bar from 0 to 1, the text above it, and the ticks of the axis as [height, text].
function rightScale() {
  return {
    title: "right answers (%)",
    height: (row) => row.percent / 100,
    paperHeight: (row) => row.paper_percent / 100,
    text: short,
    marks: [0, 50, 100].map((mark) => [mark / 100, String(mark)]),
  };
}

function wrongScale(rows) {
  const paperErrors = (row) => Math.max(0, 1 - row.paper_percent / 100);
  // Errors below 1e-13 are rounding errors.
  const seen = rows.flatMap((row) => [row.errors ?? 0, row.paper_percent === null ? 0 : paperErrors(row)]);
  const fewest = Math.min(0.01, ...seen.filter((errors) => errors > 1e-13));
  // Below the fewest errors, so that these still have a bar; only zero errors have none.
  const lowest = Math.floor(Math.log10(fewest) - 0.3);
  const height = (errors) => Math.max(0, 1 - Math.log10(Math.max(errors, 10 ** lowest)) / lowest);
  const every = Math.ceil(-lowest / 6);
  return {
    title: "wrong answers (log scale)",
    height: (row) => height(row.errors),
    paperHeight: (row) => height(paperErrors(row)),
    text: (row) => oneIn(row.errors),
    marks: Array.from({ length: Math.floor(-lowest / every) + 1 }, (_, i) => {
      const exponent = -i * every;
      return [1 - exponent / lowest, exponent === lowest && seen.includes(0) ? "0" : decade(exponent)];
    }),
  };
}

function picture(rows, trained, width, readout) {
  const step = (width - LEFT - 6) / rows.length,
    floor = HEIGHT - BOTTOM;
  const bars = scale.isLog ? wrongScale(rows) : rightScale();
  const y = (height) => floor - height * (floor - TOP);
  const svg = s("svg", { width, height: HEIGHT, role: "group", "aria-label": `${bars.title} by test domain` });
  const written = (x, at, text) => s("text", { x, y: at, "text-anchor": "middle" }, text);
  const known = rows.filter((row) => row.length <= trained).length;
  const sorted = rows.slice(0, known).every((row) => row.length <= trained);
  if (known && sorted) {
    svg.append(s("rect", { class: "band", x: LEFT, y: 26, width: step * known, height: HEIGHT - 50, rx: 8 }));
    svg.append(
      written(LEFT + (step * known) / 2, floor + 42, step * known > 150 ? "up to the trained length" : "trained"),
    );
  }
  if (known < rows.length && sorted && known)
    svg.append(
      written(
        LEFT + (step * (known + rows.length)) / 2,
        floor + 42,
        step * (rows.length - known) > 190 ? "longer than anything seen" : "longer",
      ),
    );
  svg.append(s("text", { class: "axis-title", x: 0, y: 14 }, bars.title));
  const middle = LEFT + (width - LEFT) / 2;
  svg.append(
    s("text", { class: "axis-title", x: middle, y: HEIGHT - 6, "text-anchor": "middle" }, names(rows).axis),
  );
  for (const [mark, text] of bars.marks) {
    svg.append(s("line", { class: mark ? "grid" : "axis", x1: LEFT, x2: width - 6, y1: y(mark), y2: y(mark) }));
    svg.append(s("text", { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end" }, text));
  }
  svg.append(s("line", { class: "axis", x1: LEFT, x2: width - 6, y1: floor, y2: floor }));
  const ticks = names(rows).ticks;
  const columns = rows.map((row, i) => column(row, ticks[i], LEFT + i * step, step, y, bars));
  columns.forEach((one, i) => {
    const show = () => {
      columns.forEach((other) => other.removeAttribute("data-on"));
      one.setAttribute("data-on", "");
      readout.textContent = sentence(rows[i]);
    };
    for (const event of ["pointerenter", "focus", "click"]) one.addEventListener(event, show);
  });
  svg.append(...columns);
  return svg;
}

function column(row, tick, x, step, y, bars) {
  const middle = x + step / 2,
    width = Math.min(step * 0.62, 54),
    floor = y(0);
  const group = s("g", { class: "column", tabindex: "0", role: "img", "aria-label": sentence(row) });
  group.append(s("rect", { class: "hit", x: x + 1, y: 28, width: step - 2, height: floor, rx: 6 }));
  if (row.percent === null) {
    group.append(s("text", { class: "none", x: middle, y: floor - 10, "text-anchor": "middle" }, "?"));
  } else {
    const height = bars.height(row),
      text = bars.text(row);
    const top = Math.min(y(height), floor - (height > 0 ? 3 : 0));
    group.append(s("rect", { class: "bar", x: middle - width / 2, y: top, width, height: floor - top, rx: 3 }));
    group.append(...value(text, step, middle, top, row.paper_percent === null ? null : y(bars.paperHeight(row))));
  }
  if (row.paper_percent !== null) {
    const at = y(bars.paperHeight(row));
    group.append(s("path", { class: "paper", d: `M${middle} ${at - 6}l6 6l-6 6l-6 -6z` }));
  }
  group.append(s("text", { x: middle, y: floor + 20, "text-anchor": "middle" }, tick));
  return group;
}

// The text above a bar, on two lines where it is too wide for one, or none where it still does not fit. It is moved
// above the paper's mark where the two would overlap.
function value(text, step, x, top, mark) {
  const fits = (line) => step >= LETTER * line.length;
  const lines = fits(text) ? [text] : text.split(/(?<=in) /);
  if (!lines.every(fits)) return [];
  const isMarked = mark !== null && mark < top + 8 && mark > top - 15 * lines.length - 14;
  const bottom = isMarked ? mark - 11 : top - 7;
  return lines.map((line, i) =>
    s("text", { class: "value", x, y: bottom - 15 * (lines.length - 1 - i), "text-anchor": "middle" }, line),
  );
}

// Ticks and axis title: lengths where all domains are of one kind, else the names of the domains.
function names(rows) {
  const kinds = new Set(rows.map((row) => row.domain.match(/^([DB])\d+$/)?.[1]));
  const [kind] = kinds;
  if (kinds.size === 1 && kind)
    return {
      ticks: rows.map((row) => String(row.length)),
      axis: kind === "D" ? "digits of the longer number" : "digits of both numbers",
    };
  return {
    ticks: rows.map((row) => (row.domain.length > 9 ? `${row.domain.slice(0, 8)}…` : row.domain)),
    axis: "test domain",
  };
}

const short = (row) =>
  row.percent > 99.9 && row.percent < 100
    ? row.shown.length <= 7
      ? row.shown
      : ">99.9"
    : String(Number(row.percent.toPrecision(3)));

function sentence(row) {
  if (row.percent === null) return `${row.domain}: theory makes no prediction.`;
  const exactly = row.accuracy.includes("/")
    ? row.accuracy.length <= LONGEST_FRACTION
      ? `, exactly ${row.accuracy}`
      : `, exactly a fraction of ${row.accuracy.length - 1} digits`
    : "";
  const paper =
    row.paper_percent === null
      ? "The paper gives no number."
      : `The paper’s approximation: ${Number(row.paper_percent.toPrecision(6))} %.`;
  const wrong = row.errors > 0 && row.errors <= 0.1 ? ` Wrong: ${oneIn(row.errors)}.` : "";
  return `${row.domain}: predicted accuracy ${row.shown} %${exactly}.${wrong} ${paper} Measured: ${row.measured}.`;
}

function legend(rows) {
  const key = (shape, text) =>
    h("li", {}, s("svg", { width: 14, height: 14, "aria-hidden": "true" }, shape), text);
  const items = [
    key(
      s("rect", { class: "bar", x: 1, y: 1, width: 12, height: 12, rx: 3 }),
      "exact predicted accuracy",
    ),
  ];
  if (rows.some((row) => row.paper_percent !== null))
    items.push(key(s("path", { class: "paper", d: "M7 2l5 5l-5 5l-5 -5z" }), "the paper’s approximation"));
  return h("ul", { class: "legend" }, items);
}

function table(rows, functions) {
  const cells = (row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.domain),
      h("td", {}, row.hypothesis ?? "no prediction"),
      h("td", {}, row.shown),
      h("td", {}, row.percent === null ? "–" : oneIn(row.errors)),
      h("td", {}, row.accuracy && row.accuracy.length <= 24 ? row.accuracy : "–"),
      h("td", {}, row.paper_percent === null ? "–" : String(Number(row.paper_percent.toPrecision(6)))),
      h("td", {}, row.measured ?? "–"),
    );
  const head = [
    "tested on",
    "function",
    "predicted accuracy %",
    "wrong answers",
    "as a fraction",
    "paper’s approximation %",
    "trained models",
  ].map((text) => h("th", { scope: "col" }, text));
  return h(
    "details",
    { class: "as-table" },
    h("summary", {}, "As a table"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Predictions as a table" },
      h("table", { class: "rows" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map(cells))),
    ),
    functions.map((text) => h("p", { class: "note" }, text)),
  );
}

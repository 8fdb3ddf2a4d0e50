// Predicted accuracy by length: a bar each, the paper's approximation as a diamond, the exact fraction for whoever points.
import { h, s } from "./dom.js";

const HEIGHT = 276,
  TOP = 30,
  BOTTOM = 64,
  LEFT = 52,
  NARROWEST = 30;
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
  return h("div", {}, place, legend(rows), readout, table(rows, functions));
}

function picture(rows, trained, width, readout) {
  const step = (width - LEFT - 6) / rows.length,
    floor = HEIGHT - BOTTOM;
  const y = (percent) => floor - (percent / 100) * (floor - TOP);
  const svg = s("svg", { width, height: HEIGHT, role: "group", "aria-label": "Predicted accuracy by test domain" });
  const known = rows.filter((row) => row.length <= trained).length;
  const sorted = rows.slice(0, known).every((row) => row.length <= trained);
  if (known && sorted) {
    svg.append(s("rect", { class: "band", x: LEFT, y: 6, width: step * known, height: HEIGHT - 8, rx: 8 }));
    svg.append(
      s(
        "text",
        { x: LEFT + (step * known) / 2, y: HEIGHT - 12, "text-anchor": "middle" },
        step * known > 150 ? "up to the trained length" : "trained",
      ),
    );
  }
  if (known < rows.length && sorted && known)
    svg.append(
      s(
        "text",
        { x: LEFT + step * known + (step * (rows.length - known)) / 2, y: HEIGHT - 12, "text-anchor": "middle" },
        step * (rows.length - known) > 190 ? "longer than anything seen" : "longer",
      ),
    );
  for (const mark of [0, 50, 100]) {
    svg.append(s("line", { class: mark ? "grid" : "axis", x1: LEFT, x2: width - 6, y1: y(mark), y2: y(mark) }));
    svg.append(s("text", { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end" }, `${mark} %`));
  }
  const ticks = names(rows).ticks;
  const columns = rows.map((row, i) => column(row, ticks[i], LEFT + i * step, step, y, floor));
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

function column(row, tick, x, step, y, floor) {
  const middle = x + step / 2,
    width = Math.min(step * 0.62, 54);
  const group = s("g", { class: "column", tabindex: "0", role: "img", "aria-label": sentence(row) });
  group.append(s("rect", { class: "hit", x: x + 1, y: 9, width: step - 2, height: floor + 18, rx: 6 }));
  if (row.percent === null) {
    group.append(s("text", { class: "none", x: middle, y: floor - 10, "text-anchor": "middle" }, "?"));
  } else {
    const top = Math.min(y(row.percent), floor - (row.percent > 0 ? 3 : 0));
    group.append(s("rect", { class: "bar", x: middle - width / 2, y: top, width, height: floor - top, rx: 3 }));
    if (step >= LETTER * short(row).length)
      group.append(
        s(
          "text",
          { class: "value", x: middle, y: top - 7 - (beside(row) ? 9 : 0), "text-anchor": "middle" },
          short(row),
        ),
      );
  }
  if (row.paper_percent !== null) {
    const at = y(row.paper_percent);
    group.append(s("path", { class: "paper", d: `M${middle} ${at - 6}l6 6l-6 6l-6 -6z` }));
  }
  group.append(s("text", { x: middle, y: floor + 20, "text-anchor": "middle" }, tick));
  return group;
}

// Lengths say more than the names of domains, where all are of one kind.
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

// Whether the paper's mark sits where the number would stand.
const beside = (row) => row.paper_percent !== null && Math.abs(row.paper_percent - row.percent) < 6;

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
  return `${row.domain}: predicted accuracy ${row.shown} %${exactly}. ${paper} Measured: ${row.measured}.`;
}

function legend(rows) {
  const key = (shape, text) =>
    h("li", {}, s("svg", { width: 14, height: 14, "aria-hidden": "true" }, shape), text);
  const items = [
    key(
      s("rect", { class: "bar", x: 1, y: 1, width: 12, height: 12, rx: 3 }),
      "predicted accuracy: the share of right answers, exactly",
    ),
  ];
  if (rows.some((row) => row.paper_percent !== null))
    items.push(key(s("path", { class: "paper", d: "M7 2l5 5l-5 5l-5 -5z" }), "the paper’s approximation"));
  return h("ul", { class: "legend" }, items, h("li", {}, "across: ", names(rows).axis));
}

function table(rows, functions) {
  const cells = (row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.domain),
      h("td", {}, row.hypothesis ?? "no prediction"),
      h("td", {}, row.shown),
      h("td", {}, row.accuracy && row.accuracy.length <= 24 ? row.accuracy : "–"),
      h("td", {}, row.paper_percent === null ? "–" : String(Number(row.paper_percent.toPrecision(6)))),
      h("td", {}, row.measured ?? "–"),
    );
  const head = ["test on", "computes", "predicted accuracy %", "exactly", "paper says %", "measured"].map((text) =>
    h("th", { scope: "col" }, text),
  );
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

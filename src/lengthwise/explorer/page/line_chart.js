// Curves over training steps. Lines differ in colour and dashes; pointing or the arrow keys show values.
import { h, s } from "./dom.js";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#1b95a5", "#7a52c7", "#6b7280"];
const DASHES = ["", "8 4", "2 3", "10 3 2 3", "5 2", "14 4"];
const HEIGHT = 268,
  TOP = 34,
  BOTTOM = 48,
  LEFT = 58,
  RIGHT = 14;

export const look = (i) => ({
  stroke: COLOURS[i % COLOURS.length],
  "stroke-dasharray": DASHES[Math.floor(i / 2) % DASHES.length],
});

export function swatch(i) {
  return s(
    "svg",
    { width: 30, height: 10, "aria-hidden": "true" },
    s("path", { d: "M1 5H29", fill: "none", "stroke-width": 3, ...look(i) }),
  );
}

// lines: [{ label, look, points: [[step, value], ...] }]; title: of the y axis; log: logarithmic, else percent.
export function lineChart({ label, title, lines, log = false, format }) {
  const readout = h(
    "p",
    { class: "readout", "aria-live": "polite" },
    "Point at the curves, or use the arrow keys, for values.",
  );
  const place = h("div", {
    class: "chart",
    tabindex: "0",
    role: "group",
    "aria-label": `${label}: ${lines.map((line) => line.label).join(", ")}`,
  });
  const steps = [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))].sort((x, y) => x - y);
  let at = null;
  const draw = () => {
    if (place.clientWidth) place.replaceChildren(picture(lines, steps, { log, title }, place.clientWidth, at));
  };
  const choose = (index) => {
    at = Math.max(0, Math.min(steps.length - 1, index));
    const step = steps[at];
    const values = lines.flatMap((line) =>
      line.points.filter(([x]) => x === step).map(([, y]) => `${line.label} ${format(y)}`),
    );
    readout.textContent = `Step ${step.toLocaleString("en")}: ${values.join(", ")}`;
    draw();
  };
  place.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move || !steps.length) return;
    event.preventDefault();
    choose(at === null ? (move > 0 ? 0 : steps.length - 1) : at + move);
  });
  place.addEventListener("pointermove", (event) => {
    if (!steps.length) return;
    const { left, width } = place.getBoundingClientRect();
    const wanted = ((event.clientX - left - LEFT) / (width - LEFT - RIGHT)) * steps.at(-1);
    const index = steps.reduce(
      (best, x, i) => (Math.abs(x - wanted) < Math.abs(steps[best] - wanted) ? i : best),
      0,
    );
    if (index !== at) choose(index);
  });
  new ResizeObserver(draw).observe(place);
  return h("div", {}, place, readout);
}

function picture(lines, steps, { log, title }, width, at) {
  const values = lines.flatMap((line) => line.points.map(([, y]) => y)),
    all = values.filter((y) => !log || y > 0);
  const last = steps.at(-1) || 1,
    floor = HEIGHT - BOTTOM;
  const bounds =
    log && all.length
      ? [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))]
      : [0, 1];
  // Zero is drawn a decade below the smallest value.
  const hasZero = log && all.length < values.length;
  if (bounds[0] === bounds[1] || hasZero) bounds[0] -= 1;
  const x = (step) => LEFT + (step / last) * (width - LEFT - RIGHT);
  const share = (value) =>
    log ? (Math.log10(Math.max(value, 10 ** bounds[0])) - bounds[0]) / (bounds[1] - bounds[0]) : value;
  const y = (value) => floor - share(value) * (floor - TOP);
  const svg = s("svg", { width, height: HEIGHT, "aria-hidden": "true" });
  const marks = log
    ? Array.from({ length: bounds[1] - bounds[0] + 1 }, (_, i) => 10 ** (bounds[0] + i))
    : [0, 0.25, 0.5, 0.75, 1];
  for (const mark of marks) {
    svg.append(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(mark), y2: y(mark) }));
    svg.append(
      s(
        "text",
        { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end" },
        log
          ? hasZero && mark === marks[0]
            ? "0"
            : mark >= 0.01
              ? String(Number(mark.toPrecision(1)))
              : `1e${Math.round(Math.log10(mark))}`
          : String(100 * mark),
      ),
    );
  }
  svg.append(s("text", { class: "axis-title", x: 0, y: 14 }, title));
  const middle = (LEFT + width - RIGHT) / 2;
  svg.append(
    s("text", { class: "axis-title", x: middle, y: HEIGHT - 6, "text-anchor": "middle" }, "training steps"),
  );
  for (const step of [0, last / 2, last])
    svg.append(
      s(
        "text",
        { x: x(step), y: floor + 20, "text-anchor": step ? (step === last ? "end" : "middle") : "start" },
        Math.round(step).toLocaleString("en"),
      ),
    );
  if (at !== null)
    svg.append(s("line", { class: "cross", x1: x(steps[at]), x2: x(steps[at]), y1: TOP, y2: floor }));
  const drawn = lines.map((line) =>
    s("path", {
      ...line.look,
      d: line.points
        .map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`)
        .join(""),
    }),
  );
  svg.append(s("g", { class: "lines" }, drawn));
  return svg;
}

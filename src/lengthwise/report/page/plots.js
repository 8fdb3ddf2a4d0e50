"use strict";
// Draws plots when they come into view, in the colours of the page, and again when these change.
let plots = [];
const drawn = new Set();
const paperWidth = 660;
const mostTicks = 14;
// Of the markers that plots.py names.
const glyphs = {
  circle: "●", square: "■", "triangle-up": "▲", cross: "✚", diamond: "◆", x: "✖", star: "★", "diamond-open": "◇",
};

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

let reading = null;
function read() {
  reading ??= unpack(document.getElementById("plots").textContent).then((text) => {
    plots = JSON.parse(text);
    for (const place of document.querySelectorAll(".plot")) furnish(place);
  });
  return reading;
}

let loading = null;
function library() {
  loading ??= Promise.all([unpack(document.getElementById("plotly").textContent), read()]).then(([source]) => {
    const script = document.createElement("script");
    script.textContent = source;
    document.head.append(script);
  });
  return loading;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// A plot's legend is a row of buttons: they show and hide its curves.
function buttons(place) {
  return [...place.closest("figure").querySelectorAll(".legend button")];
}

// Plots go up to 100 %, with room for marks at both ends; too many names are thinned.
function percentAxes({ data, names, begin }) {
  const room = data[0].type === "bar" ? 0 : (100 - begin) / 25;
  const every = Math.ceil(names.length / mostTicks);
  const ticks = [...names.keys()].filter((place) => place % every === 0);
  const named = { tickvals: ticks, ticktext: ticks.map((place) => names[place]), range: [-0.6, names.length - 0.4] };
  return [names.length ? named : { tickformat: "," }, { range: [begin - room, 100 + room], ticksuffix: " %" }];
}

// Shapes behind the curves: the trained domains, and the line above which a prediction holds.
function shapes({ shaded, limit }) {
  const bands = shaded.map((place) => ({
    type: "rect", yref: "paper", y0: 0, y1: 1, x0: place - 0.5, x1: place + 0.5,
    layer: "below", fillcolor: "rgba(86,180,233,0.18)", line: { width: 0 },
  }));
  if (limit === null) return bands;
  const line = { color: colour("ink"), width: 1, dash: "dot" };
  return [...bands, { type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit, line }];
}

function hover({ type, name, text }) {
  if (text) return "%{text}<extra></extra>";
  return type === "bar" ? `${name}: %{y:.2f} %<extra></extra>` : `${name}, step %{x:,}: %{y:.2f} %<extra></extra>`;
}

function themed(place, onPaper) {
  const plot = plots[Number(place.dataset.plot)];
  const visible = buttons(place).map((button) => button.ariaPressed === "true");
  const data = plot.data.map((trace, index) => {
    const made = { ...trace, hovertemplate: hover(trace), visible: visible[index] ?? true };
    if (trace.marker) made.marker = { color: colour("ink"), ...trace.marker };
    if (trace.line) made.line = { color: made.marker.color, ...trace.line };
    if (trace.error_y) made.error_y = { thickness: 1.5, width: 4, ...trace.error_y };
    return made;
  });
  const [x, y] = percentAxes(plot);
  const axis = { gridcolor: colour("grid"), linecolor: colour("line"), zeroline: false, automargin: true, fixedrange: true };
  // Titles are far enough from the ticks for the margins to fit both.
  const title = (text) => ({ text, standoff: 12 });
  return [
    data,
    {
      xaxis: { ...axis, ...x, title: title(plot.x) },
      yaxis: { ...axis, ...y, title: title(plot.y) },
      barmode: "stack",
      shapes: shapes(plot),
      // Not its height on the screen, which is 0 while it is folded away.
      height: parseFloat(getComputedStyle(place).height),
      font: { color: colour("ink"), family: getComputedStyle(document.body).fontFamily, size: 12 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 8, t: 12, b: 8 },
      hoverlabel: { bgcolor: colour("panel"), font: { color: colour("ink") }, bordercolor: colour("line") },
      dragmode: false,
      showlegend: false,
      width: onPaper ? paperWidth : undefined,
      autosize: !onPaper,
    },
    { displayModeBar: false, responsive: true },
  ];
}

// A heat map is a table of numbers, coloured by the page's style.
function draw(place, onPaper = false) {
  drawn.add(place);
  const { heat, table } = plots[Number(place.dataset.plot)];
  if (heat.length) return place.replaceChildren(numbers(table, heat));
  return Plotly.react(place, ...themed(place, onPaper));
}

function redraw(onPaper) {
  document.documentElement.classList.toggle("paper", onPaper);
  if (typeof Plotly === "undefined") return;
  const places = onPaper ? [...document.querySelectorAll(".plot")].filter((place) => place.offsetParent) : [...drawn];
  for (const place of places) draw(place, onPaper);
}

async function show(place) {
  try {
    await library();
    await draw(place);
  } catch (error) {
    place.classList.add("failed");
    place.textContent = `This browser cannot draw the plot (${error.message}); its numbers are below.`;
  }
}

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      show(entry.target);
    }
  },
  { rootMargin: "400px" },
);
for (const place of document.querySelectorAll(".plot")) watcher.observe(place);

function element(tag, text, look = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...look });
}

// A legend where there is more than one curve, and the numbers where the plot is not itself a table.
function furnish(place) {
  const { data, heat, table } = plots[Number(place.dataset.plot)];
  const figure = place.closest("figure");
  if (data.length > 1) figure.append(legend(data));
  if (!heat.length) figure.append(foldedNumbers(table, figure.querySelector("strong").textContent));
}

function legend(traces) {
  const made = element("p", "", { className: "legend" });
  for (const { name, marker } of traces) {
    const sign = element("span", glyphs[marker.symbol ?? "square"], { ariaHidden: "true" });
    sign.style.color = marker.color ?? "var(--ink)";
    const button = element("button", "", { type: "button", ariaPressed: "true", title: "Show or hide" });
    button.append(sign, ` ${name}`);
    made.append(button);
  }
  return made;
}

function foldedNumbers(table, title) {
  const made = element("details", "", { className: "data" });
  const summary = element("summary", "Numbers");
  summary.append(element("span", ` of: ${title}`, { className: "unseen" }));
  made.append(summary);
  made.addEventListener("toggle", () => made.append(numbers(table)), { once: true });
  return made;
}

// The numbers of a plot as a table that scrolls if it is too wide; `heat` are percentages by row.
function numbers({ columns, rows }, heat = []) {
  const box = element("div", "", { className: "scroll", tabIndex: 0, role: "group", ariaLabel: "table" });
  const table = element("table", "");
  table.createTHead().insertRow().append(...columns.map((name) => element("th", name, { scope: "col" })));
  const body = table.createTBody();
  for (const [row, [name, ...others]] of rows.entries()) {
    const cells = others.map((text) => element("td", text));
    // A cell without a number keeps the colour of the page.
    heat[row]?.forEach((percent, column) => cells[column].style.setProperty("--percent", percent ?? "none"));
    body.insertRow().append(element("th", name, { scope: "row" }), ...cells);
  }
  box.append(table);
  return box;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".legend button");
  if (!button) return;
  button.ariaPressed = String(button.ariaPressed !== "true");
  const place = button.closest("figure").querySelector(".plot");
  if (drawn.has(place)) draw(place);
});

// A link to a folded question opens it.
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target?.scrollIntoView();
}
addEventListener("hashchange", unfold);
if (location.hash) unfold();

// Printing cannot wait, so the library is unpacked even if no plot has been viewed.
library().catch(() => {});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw(false));
addEventListener("beforeprint", () => redraw(true));
addEventListener("afterprint", () => redraw(false));

"use strict";
// Shows only the rows of the verdict tables that match all filters, and the questions they link to.
function filterRows(form) {
  const { text, ...chosen } = Object.fromEntries(new FormData(form));
  const rows = [...document.querySelectorAll(".verdicts tbody tr")];
  const parts = text.toLowerCase().split(/\s+/);
  const matches = (row) =>
    Object.entries(chosen).every(([name, value]) => !value || row.dataset[name].split("|").includes(value)) &&
    parts.every((part) => row.cells[0].textContent.toLowerCase().includes(part));
  for (const row of rows) row.hidden = !matches(row);
  const left = rows.filter((row) => !row.hidden);
  for (const table of document.querySelectorAll(".overview")) filterTable(table, left.length < rows.length);
  const linked = new Set(left.map((row) => row.querySelector("a").hash.slice(1)));
  for (const question of document.querySelectorAll(".question")) question.hidden = !linked.has(question.id);
  form.querySelector("output").textContent = `${left.length || "none"} of ${rows.length} row${rows.length > 1 ? "s" : ""}`;
}

// Updates a table's count of rows; a folded table is opened when it is filtered.
function filterTable(table, filtered) {
  const left = table.querySelectorAll("tbody tr:not([hidden])").length;
  const count = table.querySelector("[data-rows]");
  table.hidden = left === 0;
  if (filtered) table.open = true;
  const all = count.dataset.rows;
  count.textContent = `${left < all ? `${left} of ` : ""}${all} row${all > 1 ? "s" : ""}`;
}

const form = document.querySelector(".filter");
if (form) {
  form.hidden = false;
  form.addEventListener("input", () => filterRows(form));
  form.addEventListener("reset", () => setTimeout(() => filterRows(form)));
  form.addEventListener("submit", (event) => event.preventDefault());
  filterRows(form);
}

// Helpers that create and find elements, and for forms: the values typed in, and errors shown at their fields.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return fill(element, attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return fill(element, attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const $ = (selector, root = document) => root.querySelector(selector);

// Calls an action once typing has paused.
export function afterPause(action, pause) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), pause);
  };
}

export function working(text) {
  return h(
    "p",
    { class: "working", role: "status" },
    h("span", { class: "spinner", "aria-hidden": "true" }),
    h("span", {}, text),
  );
}

// Percent without a false 0 or 100.
export function percent(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0 || value === 100) return String(value);
  for (let digits = 1; digits < 12; digits++) {
    const text = value.toFixed(digits);
    if (Number(text) !== 0 && Number(text) !== 100 && (digits >= 2 || value >= 1)) return text;
  }
  return value.toPrecision(3);
}

// Forms: the values typed in, and errors shown at their fields.

export function values(form) {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
}

export function setValues(form, wanted) {
  for (const [name, value] of Object.entries(wanted)) {
    const field = form.elements[name];
    if (field) field.value = value;
  }
}

export function clearErrors(form) {
  for (const place of form.querySelectorAll("[data-error]")) place.textContent = "";
  for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}

// Shows an error at its field; returns false where the form has no such field.
export function showError(form, field, message) {
  const place = field && form.querySelector(`[data-error="${CSS.escape(field)}"]`);
  if (!place) return false;
  place.textContent = message;
  const input = form.querySelector(`[name="${CSS.escape(field)}"]`);
  if (input && input.type !== "radio") input.setAttribute("aria-invalid", "true");
  place.closest("details")?.setAttribute("open", "");
  return true;
}

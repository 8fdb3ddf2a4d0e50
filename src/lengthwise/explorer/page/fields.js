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

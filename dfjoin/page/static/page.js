// The little that pages cannot do without a script; each page works without it.
"use strict";

document.addEventListener("change", (event) => {
  const field = event.target;
  if (field.matches("[data-send]") && field.files.length) field.form.requestSubmit();
  const form = field.closest("form[data-auto]");
  if (form) form.requestSubmit();
  const column = field.closest(".column");
  if (column) column.classList.toggle("chosen", field.checked);
});

document.addEventListener("input", (event) => {
  const shown = event.target.dataset.shows;
  if (shown) document.getElementById(shown).textContent = event.target.value;
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    navigator.clipboard?.writeText(field.value);
  }
  if (button.dataset.insert) {
    const query = document.getElementById("query");
    query.setRangeText(button.dataset.insert, query.selectionStart, query.selectionEnd, "end");
    query.focus();
  }
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[method=get][data-plain]")) event.target.setAttribute("aria-busy", "true");
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy]")) form.removeAttribute("aria-busy");
});

// All listeners are the document's: htmx may exchange what is within it.
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    const zone = event.target.closest?.("[data-drop]");
    if (!zone) return;
    event.preventDefault();
    zone.classList.toggle("over", name === "dragover");
    if (name !== "drop") return;
    const input = zone.querySelector("input[type=file]");
    input.files = event.dataTransfer.files;
    if (input.files.length) zone.requestSubmit();
  });
}

document.addEventListener("keydown", (event) => {
  const isSent = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (isSent && event.target.matches?.("[data-sql]")) event.target.form.requestSubmit();
});

const query = document.querySelector("[data-sql][data-line]");
if (query) {
  const lines = query.value.split("\n");
  const start = lines.slice(0, query.dataset.line - 1).join("\n").length + (query.dataset.line > 1 ? 1 : 0);
  query.focus();
  query.setSelectionRange(start, start + (lines[query.dataset.line - 1] || "").length);
}

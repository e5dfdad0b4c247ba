// The page of a profile: links lines with instructions, filters counters.
"use strict";

function pick(button) {
  const line = button.closest("tr").dataset.line;
  const listing = button.closest(".panes");
  for (const row of listing.querySelectorAll("tr.picked")) row.classList.remove("picked");
  const rows = listing.querySelectorAll(`tr[data-line="${line}"]`);
  for (const row of rows) row.classList.add("picked");
  const first = listing.querySelector(`.isa tr[data-line="${line}"]`);
  if (first) {
    const pane = first.closest(".pane");
    pane.scrollTop = first.offsetTop - pane.clientHeight / 3;
  }
}

function filter(input) {
  const wanted = input.value.trim().toLowerCase();
  for (const row of input.parentElement.querySelectorAll(".metrics tr")) {
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  }
}

function bind(root) {
  for (const button of root.querySelectorAll(".pick")) button.addEventListener("click", () => pick(button));
  for (const input of root.querySelectorAll(".filter")) input.addEventListener("input", () => filter(input));
}

bind(document);

// The page of a profile: draws the rooflines in the colours of the theme, links lines with instructions, filters counters.
"use strict";
const theme = matchMedia("(prefers-color-scheme: dark)");

function draw() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  for (const plot of document.querySelectorAll(".plot")) {
    plot.figure ??= JSON.parse(plot.querySelector("script").textContent);
    const { data, layout } = plot.figure;
    for (const trace of data) {
      const own = colour(trace.meta);
      if (trace.line) trace.line.color = own;
      if (trace.marker) trace.marker.color = own;
      if (trace.error_y) trace.error_y.color = own;
      if (trace.text) trace.textfont = { color: colour("--dim"), size: 11 };
    }
    const axis = { color: colour("--dim"), gridcolor: colour("--line"), linecolor: colour("--line") };
    Object.assign(layout.xaxis, axis);
    Object.assign(layout.yaxis, axis);
    layout.font = { family: "system-ui, sans-serif", size: innerWidth < 600 ? 11 : 12 };
    layout.width = plot.clientWidth;
    Plotly.react(plot, data, layout, { displayModeBar: false });
  }
}

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

for (const button of document.querySelectorAll(".pick")) button.addEventListener("click", () => pick(button));
for (const input of document.querySelectorAll(".filter")) input.addEventListener("input", () => filter(input));
theme.addEventListener("change", draw);
addEventListener("resize", draw);
draw();

// Replaces the parts of the page that the server sends, and counts durations on between its messages.
"use strict";

const connection = document.getElementById("connection");
const duration = (seconds) => {
  const whole = Math.floor(seconds), two = (number) => String(number).padStart(2, "0");
  for (const [size, unit, below, smaller] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]])
    if (whole >= size) return `${Math.floor(whole / size)} ${unit} ${two(Math.floor((whole % size) / below))} ${smaller}`;
  return `${whole} s`;
};
const say = (state, text) => { connection.className = `connection ${state}`; connection.textContent = text; };
const stamp = (root) => {
  for (const each of root.querySelectorAll(".tick")) each.since = performance.now() - 1000 * Number(each.dataset.seconds);
};

stamp(document);
setInterval(() => {
  for (const each of document.querySelectorAll(".tick")) {
    const text = duration((performance.now() - each.since) / 1000);
    if (each.textContent !== text) each.textContent = text;
  }
}, 250);

const events = new EventSource(connection.dataset.events + location.search);
events.onopen = () => say("open", "live");
events.onerror = () => say("lost", "connection lost, trying again");
events.addEventListener("signed_out", () => { events.close(); location.reload(); });
for (const name of ["live", "best", "users", "attempts", "job"])
  events.addEventListener(name, (event) => {
    const part = document.getElementById(name);
    const open = [...part.querySelectorAll("details[open]")].map((each) => each.id);
    part.innerHTML = event.data;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    stamp(part);
    localise(part);
  });

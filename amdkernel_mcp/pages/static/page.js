// Shows times in the time zone of the reader. Without it they are in UTC, as the page says.
"use strict";

function localise(root) {
  const precise = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  const plain = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  for (const each of root.querySelectorAll("time[datetime]")) {
    const at = new Date(each.getAttribute("datetime"));
    if (!Number.isNaN(at.getTime())) each.textContent = ("precise" in each.dataset ? precise : plain).format(at);
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const each of root.querySelectorAll(".clock")) each.textContent = zone === "UTC" ? "times in UTC" : `times of your time zone, ${zone}`;
}

localise(document);

// The page of a report inside a chat: the MCP Apps protocol (2026-01-26) over postMessage, and nothing else from outside.
"use strict";

const REPORT = "ui://amdkernel/report";
const waiting = new Map();
let last = 0;

const post = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params = {}) => post({ method, params });
const ask = (method, params) =>
  new Promise((done, failed) => {
    waiting.set(++last, { done, failed });
    post({ id: last, method, params });
  });

function say(text) {
  const main = document.querySelector("main");
  main.replaceChildren(Object.assign(document.createElement("p"), { className: "empty", textContent: text }));
}

async function read(uri) {
  const found = await ask("resources/read", { uri });
  const main = new DOMParser().parseFromString(found.contents[0].text, "text/html").querySelector("main");
  document.querySelector("main").replaceWith(document.adoptNode(main));
  bind(document);
}

// The address of the page that an answer has; null for one without.
function pageOf(answer) {
  const shown = answer.shown;
  if (shown && shown.compared_with) return `${REPORT}/${shown.compared_with}/${shown.attempt.id}`;
  const attempt = shown ? shown.attempt.id : (answer.profile ?? answer).attempt;
  return attempt ? `${REPORT}/${attempt}` : null;
}

async function show(result) {
  let answer = result.structuredContent ?? {};
  try {
    while (["queued", "running"].includes(answer.status) && answer.job_id) {
      say(answer.progress ?? answer.status);
      const call = { name: "get_job", arguments: { job_id: answer.job_id, wait_s: 20 } };
      answer = (await ask("tools/call", call)).structuredContent ?? {};
    }
    const uri = pageOf(answer);
    if (uri) await read(uri);
    else say("This answer has no page: its text says all.");
  } catch (error) {
    say(`The page cannot be shown here: ${error.message}`);
  }
}

function wear(context) {
  if (context && context.theme) document.documentElement.dataset.theme = context.theme;
}

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || !message || message.jsonrpc !== "2.0") return;
  const asked = message.method === undefined ? waiting.get(message.id) : undefined;
  if (asked) {
    waiting.delete(message.id);
    if (message.error) asked.failed(new Error(message.error.message));
    else asked.done(message.result);
  } else if (message.method === "ui/notifications/tool-result") show(message.params);
  else if (message.method === "ui/notifications/tool-cancelled") say("The call was cancelled.");
  else if (message.method === "ui/notifications/host-context-changed") wear(message.params);
  else if (message.method !== undefined && message.id !== undefined) {
    if (["ping", "ui/resource-teardown"].includes(message.method)) post({ id: message.id, result: {} });
    else post({ id: message.id, error: { code: -32601, message: "not known here" } });
  }
});

new ResizeObserver(() => {
  const { width, height } = document.documentElement.getBoundingClientRect();
  notify("ui/notifications/size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
}).observe(document.documentElement);

ask("ui/initialize", {
  appInfo: { name: "amdkernel", version: "1" },
  appCapabilities: {},
  protocolVersion: "2026-01-26",
}).then((host) => {
  wear(host.hostContext);
  notify("ui/notifications/initialized");
});

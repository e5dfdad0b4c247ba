"""The report inside a chat: what its shell may do, and the talk with a client that shows it."""

import json
from pathlib import Path

import pytest

from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.pages.app import report, shell
from amdkernel_mcp.pages.profile import recorded_page
from scripts.chromium import Chromium, chromium, find_chromium
from tests.pages.profiles import HOSTILE, hostile_profile
from tests.pages.served import Served

HOST = """<!doctype html><meta charset="utf-8"><body><script>
const given = GIVEN;
const seen = { asked: [], heights: [], theme: null };
const frame = document.createElement("iframe");
frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
frame.style.width = "900px";
const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
const answers = {
  "ui/initialize": () => ({
    protocolVersion: "2026-01-26", hostInfo: { name: "test", version: "1" },
    hostCapabilities: { serverTools: {}, serverResources: {} }, hostContext: { theme: "dark" },
  }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, text: given.pages[uri] }] }),
  "tools/call": ({ name }) => ({ content: [], structuredContent: given.tools[name] }),
};
addEventListener("message", ({ source, data }) => {
  if (source !== frame.contentWindow) return;
  if (data.method === "ui/notifications/initialized")
    send({ method: "ui/notifications/tool-result", params: given.result });
  if (data.method === "ui/notifications/size-changed") seen.heights.push(data.params.height);
  if (data.id === undefined) return;
  seen.asked.push([data.method, data.params.uri ?? data.params.name ?? ""]);
  send({ id: data.id, result: answers[data.method](data.params) });
});
frame.srcdoc = given.shell;
document.body.append(frame);
const inside = (text) => frame.contentDocument.querySelector(text);
</script>"""


@pytest.fixture
def engine(here: Served) -> Engine:

    return here.engine


def recorded(here: Served) -> str:
    """The id of a profile whose every text tries to be markup."""
    result, _ = hostile_profile()
    answer = result.model_dump(mode="json", by_alias=True)
    return here.attempt(verb="profile", verdict="profiled", file_name=HOSTILE, answer=answer).id


def test_the_report_of_a_profile_is_its_page_and_its_users_alone(here: Served, engine: Engine) -> None:
    made = recorded(here)
    attempt = here.history.find(made).attempt.model_dump(mode="json")
    assert report(engine, [made], "user:ann") == recorded_page(attempt, []).text
    with pytest.raises(HistoryError):
        report(engine, [made], "user:bob")


def test_a_comparison_in_a_chat_has_no_links_that_lead_nowhere(here: Served, engine: Engine) -> None:
    first, second = here.attempt(text="int a;\n"), here.attempt(text="int b;\n", file_name=HOSTILE)
    text = report(engine, [first.id, second.id], "user:ann")
    assert '<span class="came">+int b;' in text
    assert "href=" not in text
    assert "<script>alert" not in text
    with pytest.raises(HistoryError):
        report(engine, [first.id, second.id], "user:bob")


def test_the_shell_loads_nothing() -> None:
    text = shell().replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert "default-src &#39;none&#39;" in text
    assert [word for word in ("http://", "https://", " src=", "@import", "url(") if word in text] == []


@pytest.mark.thorough
@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium; .ci/run installs it")
def test_a_client_that_shows_apps_shows_the_page_of_a_profile_once_its_job_has_ended(
    here: Served, engine: Engine, tmp_path: Path
) -> None:
    made = recorded(here)
    uri = f"ui://amdkernel/report/{made}"
    given = {
        "shell": shell(),
        "pages": {uri: report(engine, [made], "user:ann")},
        "tools": {"get_job": {"job_id": "job-1", "status": "done", "profile": {"attempt": made}}},
        "result": {"content": [], "structuredContent": {"status": "running", "job_id": "job-1"}},
    }
    page = tmp_path / "host.html"
    page.write_text(HOST.replace("GIVEN", json.dumps(given).replace("</", "<\\/")), encoding="utf-8")
    with chromium(tmp_path) as browser:
        browser.open(page.as_uri())
        browser.wait_for("inside('main h1') !== null && seen.heights.at(-1) > 600")
        assert browser.run("seen.asked") == [["ui/initialize", ""], ["tools/call", "get_job"], ["resources/read", uri]]
        assert browser.run("inside('main h1').textContent") == HOSTILE
        assert browser.run("frame.contentDocument.querySelectorAll('main img').length") == 0
        assert browser.run("frame.contentDocument.documentElement.dataset.theme") == "dark"
        filtered = """(() => {
            const input = inside('.filter');
            input.value = 'no counter has this name';
            input.dispatchEvent(new Event('input'));
            return [...frame.contentDocument.querySelectorAll('.metrics tr')].every((row) => row.hidden);
        })()"""
        assert browser.run(filtered), "its script works on the page that came later"
        _is_dark(browser)
        assert browser.console_errors == []


def _is_dark(browser: Chromium) -> None:
    browser.look(1000, 800, "light")
    ground = "frame.contentWindow.getComputedStyle(frame.contentDocument.body).backgroundColor"
    assert browser.run(ground) == "rgb(19, 20, 22)", "as the client's theme says, not the browser's"

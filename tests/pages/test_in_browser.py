"""The page in a headless Chromium: two widths, both themes, live updates, nothing that its policy blocks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import uvicorn

from scripts.chromium import Chromium, chromium, find_chromium
from tests.pages.served import ANN, BOB, EVE, Served, join
from tests.server.http_server import free_port

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium; .ci/run installs it"),
]
TAG = "<b>bold</b>"
MOST_LINES = """Math.max(...[...document.querySelectorAll('.target .line b')].map((name) => {
    const text = document.createRange();
    text.selectNodeContents(name);
    return text.getClientRects().length;
}))"""

# In each of 20 frames of that width, and not before the first: a size is set before the page is laid out for it.
MOST_OUT_OF_SIGHT = """(width) => new Promise((done) => {
    let frames = 0, most = -Infinity;
    const look = () => {
        const box = document.querySelector('.users').parentElement;
        if (innerWidth === width && frames++) most = Math.max(most, box.scrollWidth - box.clientWidth);
        frames > 20 ? done(most) : requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})"""


@pytest.fixture
def address(here: Served) -> Iterator[str]:
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(here.app, port=port, log_level="warning", timeout_graceful_shutdown=1))
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(server.run)
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        ended.result(60)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    with chromium(tmp_path) as opened:
        yield opened


def contrast(browser: Chromium, selector: str) -> float:
    """The least contrast of the texts that `selector` names with what is behind them, as WCAG computes it."""
    least: float = browser.run(
        """(() => {
            const light = (text) => {
                const parts = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
                const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const behind = (each) => {
                for (let at = each; at; at = at.parentElement) {
                    const colour = getComputedStyle(at).backgroundColor;
                    if (!/, 0\\)$/.test(colour)) return colour;
                }
            };
            return Math.min(...[...document.querySelectorAll(SELECTOR)].map((each) => {
                const [a, b] = [light(getComputedStyle(each).color), light(behind(each))];
                return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            }));
        })()""".replace("SELECTOR", repr(selector))
    )
    return least


def test_the_page_is_live_readable_and_safe_at_both_widths_in_both_themes(
    here: Served, browser: Chromium, address: str
) -> None:
    by = "user:<b>eve</b>"
    here.timed(20.0, by=by, problem=TAG)
    made = here.timed(10.0, by=by, problem=TAG, verdict="inconclusive")
    here.attempt(by, file_name=TAG, verdict="incorrect", answer={"reason": TAG})
    running = here.start(by, problem=TAG, says=TAG)
    browser.open(f"{address}/")
    browser.run(f"document.getElementById('token').value = '{EVE}'; document.forms[0].submit()")
    browser.wait_for("document.querySelector('.connection.open') !== null")
    browser.console_errors.clear()  # one is the 401 of the form
    for theme in ("light", "dark"):
        for width in (1280, 390):
            browser.look(width, 900, theme)
            assert browser.run("document.documentElement.scrollWidth") <= width, f"{width} px: it scrolls sideways"
        for selector in (".dim, .sub, a", ".verdict", ".evidence", ".state", "dt", "h2", "button"):
            assert contrast(browser, selector) >= 4.5, f"{selector}, {theme}"
    assert "<b>eve</b>" in browser.run("document.querySelector('.who').textContent")
    assert browser.run("document.querySelectorAll('.who b, .job b, .what b, h3 b').length") == 0

    here.start("user:ann")
    browser.wait_for("document.querySelectorAll('.queue tbody tr').length === 1")
    browser.run(f"document.querySelector('form[action=\"/jobs/{running}/cancel\"] button').click()")
    browser.wait_for("document.querySelector('.target.busy .job')?.textContent.includes('ann')")
    assert here.jobs.find(running, by).status == "cancelled"

    browser.open(f"{address}/attempts/{made.id}")
    assert browser.run("document.querySelectorAll('.source tr').length") == 1
    assert browser.console_errors == []
    del here.names[EVE]
    browser.open(f"{address}/")
    browser.wait_for("document.getElementById('token') !== null")


def test_the_name_of_a_target_is_on_one_line_beside_any_state(here: Served, browser: Chromium, address: str) -> None:
    here.workers.leave(join(here, "gpu-host-of-lab-9"))
    browser.open(f"{address}/")
    browser.run(f"document.getElementById('token').value = '{ANN}'; document.forms[0].submit()")
    browser.wait_for("document.querySelector('.target .state.unreachable') !== null")
    for width in (1280, 640, 390):
        browser.look(width, 900, "light")
        assert browser.run(MOST_LINES) == 1, f"{width} px: a name is broken"


def test_an_admin_sees_all_of_each_user_on_a_phone(here: Served, browser: Chromium, address: str) -> None:
    here.scopes[BOB] = ("docs", "admin")
    browser.open(f"{address}/")
    browser.run(f"document.getElementById('token').value = '{BOB}'; document.forms[0].submit()")
    browser.wait_for("document.querySelector('.users') !== null")
    for width in (1280, 380):
        browser.look(width, 900, "light")
        assert browser.run(f"({MOST_OUT_OF_SIGHT})({width})") <= 0, f"{width} px: some of it is out of sight"
    named = "getComputedStyle(document.querySelector('.users td:nth-last-child(2)'), '::before').content"
    assert "measured on GPUs" in str(browser.run(named)), "without the head of the table each figure has its name"


def test_counters_fit_a_phone_where_the_ratio_comes_first_and_a_cut_box_fades(
    here: Served, browser: Chromium, address: str
) -> None:
    def counted(value: float) -> str:
        metric = {"value": value, "unit": "wave instructions", "evidence": "not_measured"}
        answer = {"counters": {"SIMULATED_CLOCKS_WITHOUT_LDS_CONFLICTS": metric}}
        return here.attempt(verb="benchmark", answer=answer, text=f"int a; // {'a long line ' * 20}{value}").id

    first, second = counted(123456789.0), counted(1234567890.0)
    browser.open(f"{address}/")
    browser.run(f"document.getElementById('token').value = '{ANN}'; document.forms[0].submit()")
    browser.wait_for("document.querySelector('.connection.open') !== null")
    browser.look(390, 900, "light")
    figures = "[...document.querySelectorAll('.metrics *, .counters *')].map((e) => e.getBoundingClientRect().right)"
    for path in (f"/attempts/{first}", f"/compare?a={first}&b={second}"):
        browser.open(f"{address}{path}")
        assert browser.run("document.documentElement.scrollWidth") <= 390, path
        assert max(browser.run(figures)) <= 376, f"{path}: a figure sticks out of its card"
        box = "document.querySelector('.source')?.parentElement ?? document.querySelector('.diff')"
        fade = f"getComputedStyle({box}).getPropertyValue('--right')"
        browser.wait_for(f"{fade} === '36px'")
        browser.run(f"({box}).scrollLeft = 1e6")
        browser.wait_for(f"{fade} === '0px'")
    at = "[...document.querySelectorAll('table.counters tbody td.n')].map((e) => e.getBoundingClientRect().left)"
    first_at, second_at, ratio_at = browser.run(at)
    assert ratio_at < first_at < second_at

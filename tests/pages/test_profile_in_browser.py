"""The page of a profile in a headless Chromium: two widths, both themes, nothing that its policy blocks."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.pages.profile import profile_page
from amdkernel_mcp.profiling.import_recording import import_recording
from scripts.chromium import Chromium, chromium, find_chromium
from tests.pages.profiles import HOSTILE, hostile_profile
from tests.pages.test_in_browser import contrast

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium; .ci/run installs it"),
]


RECORDING = Path(__file__).parents[1] / "profiling/recordings/vcopy/MI200"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    with chromium(tmp_path) as opened:
        yield opened


def test_the_page_of_a_profile_is_readable_at_both_widths_in_both_themes(browser: Chromium, tmp_path: Path) -> None:
    result, details = hostile_profile()
    file = tmp_path / "report.html"
    file.write_text(profile_page(result, kernel=HOSTILE, problem="p", details=details).text, encoding="utf-8")
    browser.open(file.as_uri())
    for theme in ("light", "dark"):
        for width in (1280, 390):
            browser.look(width, 900, theme)
            assert browser.run("document.documentElement.scrollWidth") <= width, f"{width} px: it scrolls sideways"
            rights = (
                "[...document.querySelectorAll('.plot circle, .plot text')].map((e) => e.getBoundingClientRect().right)"
            )
            assert max(browser.run(rights)) <= width
        for selector in (".dim, .sub, .small", ".verdict", ".evidence", "dt", "h2, h3", ".pane td", ".pick", ".bad"):
            assert contrast(browser, selector) >= 4.5, f"{selector}, {theme}"
    colours = "JSON.stringify([...document.querySelectorAll('.plot circle')].map((p) => getComputedStyle(p).fill))"
    dark = browser.run(colours)
    assert len(set(json.loads(dark))) == 5, "a colour for each memory"
    browser.look(1280, 900, "light")
    browser.wait_for(f"{colours} !== {dark!r}")

    browser.run("document.querySelector('#L2 .pick').click()")
    assert browser.run("document.querySelectorAll('.isa tr.picked').length") == 2
    browser.run(
        "document.querySelector('details.counters').open = true;"
        "const box = document.querySelector('.filter'); box.value = 'bank';"
        "box.dispatchEvent(new Event('input'))"
    )
    shown = (
        "[...document.querySelectorAll('.metrics tr')].filter((row) => row.offsetHeight).map((row) => row.innerText)"
    )
    assert all("bank" in each.lower() for each in browser.run(shown))
    assert len(browser.run(shown)) >= 1
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.console_errors == []


def test_the_page_of_a_recording_fits_a_phone(browser: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "recording.html"
    text = profile_page(import_recording(RECORDING), kernel="MI200", problem="").text
    file.write_text(text, encoding="utf-8")
    browser.open(file.as_uri())
    for width in (1280, 390):
        browser.look(width, 900, "dark")
        assert browser.run("document.documentElement.scrollWidth") <= width, f"{width} px: it scrolls sideways"
    assert browser.run("document.querySelectorAll('.metrics tr').length") > 50
    assert browser.console_errors == []

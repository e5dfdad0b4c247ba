"""The page of a profile needs nothing but itself, and no text of a kernel becomes markup or a script."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from amdkernel_mcp.cli.show.profile import show_profile
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.pages.profile import profile_page
from amdkernel_mcp.profiling.kept_details import keep_details
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS
from amdkernel_mcp.results.kernels import KernelProfile, ProfileResult
from amdkernel_mcp.results.quantity import Metric
from tests.pages.profiles import HOSTILE, hostile_profile
from tests.pages.served import ANN, BOB, Served


class Read(HTMLParser):
    """The tags of a page, and the texts of its scripts. CDATA rules are the parser's, as a browser's."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script" and not attrs
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def page() -> str:
    result, details = hostile_profile()
    return profile_page(result, kernel=HOSTILE, problem=HOSTILE, details=details).text


def test_a_browser_fetches_nothing_and_the_text_of_a_kernel_stays_text(page: str) -> None:
    found = Read(page)
    assert {tag for tag, _ in found.tags} & {"img", "link", "iframe", "object", "form"} == set()
    assert [attributes for _, attributes in found.tags if attributes.keys() & {"src", "onerror", "onclick"}] == []
    assert all((each.get("href") or "#").startswith("#") for _, each in found.tags)
    assert "{{ 7 * 7 }}" in page, "the text of a kernel is not a template"


def test_the_policy_lets_only_the_scripts_of_the_page_run(page: str) -> None:
    found = Read(page)
    policy = next(each["content"] for _, each in found.tags if each.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in found.scripts]
    allowed = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert allowed.split()[1:] == hashes
    assert len(hashes) == 1, "ours; no text of the kernel is a second"


def test_the_roofline_has_a_point_for_each_memory_that_the_kernel_uses(page: str) -> None:
    marks = re.findall(r'<g style="color: var\(--level-(\d)\)"><title>([^<]*)</title>(.*?)</g>', page)
    points = {level: (says, shapes) for level, says, shapes in marks if "<circle" in shapes}
    flop = 2 * 64 * 2 * 4096
    assert f" {flop / (2 << 20):.3g} flop/B" in points["4"][0]  # memory: 1 MiB read and 1 MiB written
    assert f" {flop / (256 * 4096):.3g} flop/B" in points["0"][0]  # LDS
    assert len(points) == 5
    for level, (_, shapes) in points.items():
        low, high = map(float, re.search(r'y1="([\d.]+)%" x2="[\d.]+%" y2="([\d.]+)%"', shapes).groups())
        assert low < high <= 100, f"level {level}: a modelled time is an interval"
    roofs = [says for _, says, shapes in marks if "<circle" not in shapes]
    assert any(each.endswith("peak") for each in roofs)
    assert any(each.endswith("as benchmarks reach it") for each in roofs)


def test_each_line_that_ran_shows_what_it_did_and_its_instructions(page: str) -> None:
    rows = re.findall(r'<tr id="L(\d)" data-line="\d">(.*?)</tr>', page, re.DOTALL)
    assert [number for number, _ in rows] == ["1", "2", "3", "4"]
    text = dict(rows)
    assert "67 %" in text["2"]
    assert ">34.6 MB</td>" in text["2"], "66 lines of 128 B for each wave"
    assert ">75 %</td>" in text["3"], "6 of 8 LDS cycles are conflicts"
    assert "%" not in text["4"]
    assert page.count('<tr data-line="2" class="') == 2


def test_the_page_of_an_attempt_is_that_of_its_profile_and_for_its_user_alone(here: Served) -> None:
    result, details = hostile_profile()
    hers = here.attempt(
        verb="profile", verdict="profiled", file_name="k.hip", answer=result.model_dump(mode="json", by_alias=True)
    )
    keep_details(here.answers, hers.id, details)
    ann = here.client(ANN)
    assert f'href="/attempts/{hers.id}/profile"' in ann.get(f"/attempts/{hers.id}").text
    answer = ann.get(f"/attempts/{hers.id}/profile")
    record = here.history.find(hers.id).attempt.model_dump(mode="json")
    page = profile_page(result, kernel="k.hip", problem="vector_add", details=details, attempt=record).text
    assert f'<a href="/attempts/{hers.id}">' in page
    assert "of ann, " in page
    assert "/attempts/" not in profile_page(result, kernel="k.hip", problem="vector_add", details=details).text
    assert sorted(answer.text.splitlines()) == sorted(page.splitlines()), "but for the order of the counters"
    sent, inside = answer.headers["content-security-policy"], re.search(r'Policy" content="([^"]*)"', answer.text)
    assert inside
    assert sent == f"{unescape(inside[1])}; frame-ancestors 'none'"
    assert answer.headers["cache-control"] == "no-store"
    assert here.client(BOB).get(f"/attempts/{hers.id}/profile").status_code == 404
    assert here.client().get(f"/attempts/{hers.id}/profile").status_code == 401


def test_a_profile_whose_details_are_too_old_has_a_page_without_them(here: Served) -> None:
    result, _ = hostile_profile()
    hers = here.attempt(verb="profile", verdict="profiled", answer=result.model_dump(mode="json", by_alias=True))
    here.answers.write(f"{hers.id}.profile.json", b'[{"of": "another version"}]')
    page = here.client(ANN).get(f"/attempts/{hers.id}/profile")
    assert page.status_code == 200
    assert "Roofline" not in page.text


@pytest.mark.parametrize("answer", [{}, {"kernels": [{"of": "another version"}]}])
def test_an_attempt_without_a_profile_that_can_be_read_has_no_page_of_one(
    here: Served, answer: dict[str, object]
) -> None:
    for verb in ("check", "profile"):
        attempt = here.attempt(verb=verb, answer=answer)
        assert here.client(ANN).get(f"/attempts/{attempt.id}/profile").status_code == 404


def test_a_kernel_without_arithmetic_has_no_roofline() -> None:
    result, details = hostile_profile(SQ_INSTS_VALU_FMA_F32=0)
    page = profile_page(result, kernel="k.hip", problem="p", details=details).text
    assert "no place on a roofline" in page
    assert "<circle" not in page


def test_the_page_and_the_command_show_where_the_issue_slots_went() -> None:
    account = {name: 0.0 for name in COUNTERS if name.startswith("slots_")}
    account |= {"simulated_clocks": 1000, "simulated_cus": 304, "slots_vector": 300, "slots_wait_l2": 690}
    result, details = hostile_profile(**account | {"slots_nothing_to_run": 10})
    page = unescape(profile_page(result, kernel="k.hip", problem="p", details=details).text)
    slots = page[page.index('class="bars slots"') :].partition("</ol>")[0]
    shown = re.findall(r'class="what">([^<]*)<.*?class="n">(\d+ %)', slots)
    assert shown == [("wait: L2", "69 %"), ("issued, VALU", "30 %")]
    console = Console(record=True, width=200, file=StringIO())
    show_profile(console, result, KernelSource("void k() {}", "k.hip"))
    assert "issue slots of a simulated SIMD: 69 % wait: L2, 30 % issued, VALU" in console.export_text()
    without = profile_page(*hostile_profile()[:1], kernel="k.hip", problem="p", details=hostile_profile()[1]).text
    assert 'class="bars slots"' not in without


def test_a_recording_without_a_source_shows_its_counters_and_its_notes() -> None:
    metric = Metric(value=12.5, evidence="measured", unit="%", note="diluted")
    kernel = KernelProfile(name="gemm", dispatches=3, metrics={"VALU Utilization": metric}, bound=None)
    page = profile_page(ProfileResult(kernels=[kernel], reason="rocprofv3"), kernel="pmc.csv", problem="").text
    assert "VALU Utilization" in page
    assert "diluted" in page
    assert "Roofline" not in page

"""The cookbook: its pages say what the tables say, and its kernels do what its pages say.

`figures.tsv` of a guide is written by these tests: ACCEPT_SNAPSHOTS=1 accepts other counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import get_args

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.checking.check import check
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.execution.hosts import EMULATED
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.reading.asked import guides_for
from amdkernel_mcp.reading.cookbook import KERNELS, Recipe, page_of, recipes, shown
from amdkernel_mcp.reading.guides import GUIDES, read_guide, recipes_in
from amdkernel_mcp.results.documentation import SearchResult
from amdkernel_mcp.results.kernels import CheckResult, FindingKind
from amdkernel_mcp.server.delivery.short_search import short_search
from tests.snapshots import assert_snapshot

FINDINGS = set(get_args(FindingKind))
IN_GATE = ("row-reduction",)
SECTIONS = ["The kernel", "What it gains", "How it works", "Common mistakes", "Sources"]
SECTIONS += ["The naive kernel", "The problem"]

Check = Callable[[Recipe, str], CheckResult]
WHOLE = CheckOptions(seed_key="c0" * 32)  # with drawn sizes, the same in each run
SHORT = CheckOptions(seeds=(1, 2))  # whose expected outputs the first of the other architectures leaves in the cache


def of_the_gate_or_thorough() -> Iterator[object]:
    for number, name in enumerate(recipes()):
        marks = [] if name in IN_GATE else [pytest.mark.thorough]
        yield pytest.param(name, marks=[*marks, pytest.mark.soak] if marks and number % 5 else marks)


@pytest.fixture
def checked(sandbox: Sandbox, settings: Settings) -> Check:
    def run(recipe: Recipe, arch: str) -> CheckResult:
        problem, source = load_problem(recipe.path), recipe.kernel("good")
        plan = read_launch_plan(source, problem)
        target = find_target(f"emulator:{arch}", settings)
        compiled = Compiler(sandbox, settings.cache_dir).compile(
            source, arch=target.arch, flags=plan.flags(), file_name="good.hip"
        )
        return check(
            sandbox=sandbox,
            compiled=compiled,
            problem=problem,
            plan=plan,
            target=target,
            cache_dir=settings.cache_dir,
            options=WHOLE if arch == recipe.archs[0] else SHORT,
        )

    return run


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    opened = Engine(settings)
    yield opened
    opened.close()


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("name", list(of_the_gate_or_thorough()))
def test_the_kernel_of_a_guide_is_correct_on_every_architecture_that_it_names(checked: Check, name: str) -> None:
    recipe = recipes()[name]
    for arch in recipe.archs:
        answer = checked(recipe, arch)
        assert answer.verdict == "correct", f"on {arch}: {answer.reason}\n{answer.findings}"
        assert not answer.findings, f"on {arch}"


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("name", list(of_the_gate_or_thorough()))
def test_the_figures_of_a_guide_are_what_a_profile_counts_and_show_its_claim(engine: Engine, name: str) -> None:
    recipe = recipes()[name]
    counted = {which: counts_of(engine, recipe, which) for which in KERNELS}
    assert set(recipe.counters()) <= set().union(*counted.values()), "a counter that a profile has"
    figures = {counter: [counted[which].get(counter, 0.0) for which in KERNELS] for counter in recipe.counters()}
    if not _still_hold(recipe, figures):
        rows = ["\t".join([counter, *(f"{value:.10g}" for value in values)]) for counter, values in figures.items()]
        assert_snapshot(recipe.path / "figures.tsv", "\n".join(["\t".join(["counter", *KERNELS]), *rows, ""]))
    for counter in (*recipe.lower, *recipe.higher):
        naive, good = figures[counter]
        assert (good < naive) == (counter in recipe.lower), counter
        assert good != naive, counter


def _still_hold(recipe: Recipe, figures: dict[str, list[float]]) -> bool:
    """Whether the page quotes these counts; a tenth off at most, as modelled ones move with the model of the caches."""
    told = recipe.figures()
    return all(
        (which, counter) in told and math.isclose(told[which, counter], value, rel_tol=0.1)
        for counter, values in figures.items()
        for which, value in zip(KERNELS, values, strict=True)
    )


def counts_of(engine: Engine, recipe: Recipe, which: str) -> dict[str, float]:
    """What the launches of a kernel counted, added up; a counter that stayed 0 may be left out."""
    target = f"emulator:{recipe.archs[0]}"
    answer = engine.do(
        Profile(problem=str(recipe.path), source=recipe.kernel(which), file_name=f"{which}.hip", target=target)
    )
    assert not answer.findings, f"{which} computes what the problem asks"
    counted: dict[str, float] = {}
    for kernel in answer.kernels:
        for name, quantity in kernel.metrics.items():
            counted[name] = counted.get(name, 0.0) + (quantity.value or 0.0)
    return counted


@pytest.mark.parametrize("name", recipes())
def test_a_page_has_its_parts_and_quotes_figures_that_were_counted(name: str) -> None:
    recipe, page = recipes()[name], page_of(name)
    assert [heading for heading in re.findall(r"^## (.+)$", page, re.MULTILINE) if heading in SECTIONS] == SECTIONS
    assert "{{" not in page.replace(recipe.kernel("good"), "").replace(recipe.kernel("naive"), "")
    assert set(recipe.archs) <= set(EMULATED)
    assert 80 <= len(recipe.short) <= 220, "a short answer fits into a short card"
    assert len(recipe.asked) >= 12, "a dozen askings"
    assert re.findall(r"\]\(https://", page), "sources"
    assert set(recipe.lower) | set(recipe.higher), "a claim that counters show"
    for counter in (*recipe.lower, *recipe.higher):
        naive, good = (shown(recipe.figures()[which, counter]) for which in KERNELS)
        assert f"| {counter} | {naive} | {good} |" in page
    for which in KERNELS:
        assert recipe.kernel(which).strip() in page


@pytest.mark.parametrize("name", recipes())
def test_what_a_page_refers_to_exists(name: str) -> None:
    page = page_of(name)
    assert set(re.findall(r"guide:([\w-]+)", page)) <= {*GUIDES, *recipes()}
    mistakes = page.partition("## Common mistakes")[2].partition("## ")[0]
    named = set(re.findall(r"`([a-z0-9_]+)`", mistakes)) & FINDINGS
    assert named, "a mistake is named by the finding that reports it"


def test_a_guide_is_read_by_section_and_an_unknown_one_is_told_what_there_is() -> None:
    part = read_guide("guide:lds-transpose#how-it-works", section=None, start=0, max_chars=9000, find=None)
    assert part.heading.endswith("How it works")
    assert "64, of 4 bytes each" in part.text, "the fact of the card of gfx950"
    with pytest.raises(DocumentationError) as unknown:
        read_guide("guide:nosuch", section=None, start=0, max_chars=100, find=None)
    assert "lds-transpose" in str(unknown.value.hint)


@pytest.mark.parametrize("name", recipes())
def test_a_guide_is_found_by_its_own_askings(name: str) -> None:
    lost = [asked for asked in recipes()[name].asked if guides_for(asked) != [name]]
    assert not lost


@pytest.mark.parametrize(
    "query",
    ["hipMemcpyAsync returns", "rocblas_sgemm parameters", "how do I install ROCm", "hipErrorInvalidValue", "x", "LDS"],
)
def test_a_question_about_something_else_finds_no_guide(query: str) -> None:
    assert guides_for(query) == []


@pytest.mark.parametrize(
    "query",
    [
        "graphics card invisible inside the container",
        "how many chiplets and active compute units has the MI355X",
        "layout of the kernel descriptor, fields and bits",
        "which of my kernels should I look at first",
    ],
)
def test_a_question_that_shares_a_word_with_many_askings_and_no_asking_finds_no_guide(query: str) -> None:
    assert guides_for(query) == []


def test_what_a_guide_answers_is_of_its_text_and_not_of_its_sources() -> None:
    for query in (
        "bank conflicts in LDS on MI300, AMD kernel optimisation guide",
        "row reduction with DPP, LLVM syntax of dpp_ctrl",
    ):
        assert [card for card in recipes_in(query) if "http" in card.text] == []
        assert recipes_in(query)


def test_the_cookbook_has_no_folder_without_a_guide() -> None:
    assert {each.name for each in folder("cookbook").iterdir() if each.is_dir()} == set(recipes())


def test_a_short_search_keeps_the_answer_of_a_guide_though_another_card_is_there() -> None:
    (guide,) = recipes_in("avoid LDS bank conflicts in a matrix transpose on MI300X")
    other = guide.model_copy(update={"ref": "problem:transpose", "name": "transpose", "text": "A long line.\n" * 200})
    found = SearchResult(query="x", exact=[guide, other], results=[], applied=[], note=None)
    shown, _ = short_search(found).exact
    assert recipes()["lds-transpose"].short in shown.text


def test_the_places_that_the_transpose_guide_gives_use_every_bank_once() -> None:
    """The formulas of the text, evaluated: which of the 32 banks each lane of a group touches."""
    text = recipes()["lds-transpose"].prose
    single, groups = (next(iter(re.findall(rf"`(r\*32 \+ {of}[^`]*)`", text))) for of in (r"\(c \^", r"\(c/4"))

    def banks(formula: str, cells: Sequence[tuple[int, int]]) -> list[int]:
        return sorted(eval(formula.replace("/", "//"), {"r": r, "c": c}) % 32 for r, c in cells)

    for fixed in range(32):
        assert banks(single, [(fixed, c) for c in range(32)]) == list(range(32)), "a row"
        assert banks(single, [(r, fixed) for r in range(32)]) == list(range(32)), "a column"
        wide = [(fixed, 4 * group + e) for group in range(8) for e in range(4)]
        assert banks(groups, wide) == list(range(32)), "16 bytes of each group of a row"
        down = [(4 * i + fixed % 4, 4 * (fixed // 4) + e) for i in range(8) for e in range(4)]
        assert banks(groups, down) == list(range(32)), "16 bytes of every fourth row"

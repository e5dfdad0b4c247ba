"""What a person sees: verdict first, the user's line with a marker, no colour codes where they are not wanted."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from amdkernel_mcp.cli.show.benchmark import show_benchmark
from amdkernel_mcp.cli.show.check import show_check
from amdkernel_mcp.cli.show.compile import show_compile
from amdkernel_mcp.cli.show.documentation import show_search
from amdkernel_mcp.cli.show.jobs import show_jobs
from amdkernel_mcp.cli.show.machine import show_doctor
from amdkernel_mcp.cli.show.parts import number
from amdkernel_mcp.cli.show.profile import show_profile
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.documentation import Hit, SearchResult, SectionRef
from amdkernel_mcp.results.jobs import JobList, ListedJob
from amdkernel_mcp.results.kernels import (
    BenchmarkResult,
    CaseResult,
    CheckResult,
    Comparison,
    CompileResult,
    Diagnosis,
    Diagnostic,
    FigureChange,
    Finding,
    HotLine,
    KernelProfile,
    KernelResources,
    PastFinding,
    ProfileResult,
    Span,
    TimeChange,
    Worst,
)
from amdkernel_mcp.results.machine import DoctorCheck, DoctorResult
from amdkernel_mcp.results.quantity import Interval, Metric, Quantity

KERNEL = KernelSource("line one\n\ty[i] = x[i + 1];\nline [three]\n", "k.hip")
CASE = CaseResult(
    case="rows=7, cols=33",
    held_out=True,
    verdict="incorrect",
    reason="wrong",
    max_abs_err=0.5,
    max_rel_err=float("inf"),
    violations=12,
    worst=Worst(argument="y", index=[3, 17], got="nan", expected=0.25),
)
CHECK = CheckResult(
    verdict="incorrect",
    reason="12 elements of y are wrong",
    target="emulator:gfx942",
    evidence="emulated",
    cases=[CASE] * 20,
    findings=[Finding(kind="out_of_bounds", message="reads x[231], x has 231 elements", line=2)],
)
COMPILE = CompileResult(
    ok=False,
    arch="gfx942",
    diagnostics=[Diagnostic(severity="error", message="no [member] 'x'", line=2, column=9)],
    kernels=[
        KernelResources(
            name="k",
            vgpr=128,
            agpr=4,
            sgpr=32,
            lds_bytes=65536,
            scratch_bytes=16,
            vgpr_spills=3,
            sgpr_spills=0,
            wavefront_size=64,
            occupancy_waves_per_simd=4,
            occupancy_limit="vgpr",
            instructions={"valu": 1200, "mfma": 0, "lds": 7},
        )
    ],
)
BENCHMARK = BenchmarkResult(
    verdict="faster",
    speedup=Interval(value=1.5, low=1.4, high=1.6),
    time_us=Quantity(value=12.34, evidence="modelled"),
    baseline_time_us=Quantity(value=18.5, evidence="modelled"),
    counters={"SQ_WAVES": Metric(value=4096, unit="", evidence="emulated")},
)
PROFILE = ProfileResult(
    kernels=[
        KernelProfile(
            name="k",
            dispatches=2,
            metrics={"L2 Hit Rate": Metric(value=50.0, unit="%", evidence="emulated")}
            | {f"M{number}": Metric(value=number / 7, unit="%", evidence="emulated") for number in range(30)},
            bound="hbm",
            hot_lines=[HotLine(line=2, source="    y[i] = x[i + 1];", share=0.75, evidence="emulated")],
        )
    ],
    diagnosis=[
        Diagnosis.model_validate(
            {"finding": "f", "because": "b", "try": "t", "docs": ["hip:page"], "gain": {"low": 1.2, "high": 3.0},
             "refuted_by": "padding changes nothing", "lines": [2]}
        )
    ],
    comparison=Comparison(
        compared_with="before.hip",
        gone=[PastFinding(finding="Stores are not coalesced", because="64 lines")],
        new=["f"],
        times=[
            TimeChange(before=Span(low=24.4, high=211), after=Span(low=5, high=12), evidence="modelled", says="faster")
        ],
        figures=[
            FigureChange(metric="bytes_loaded", unit="B", evidence="emulated", before=3.0, after=1.0, better=True)
        ],
    ),
)  # fmt: skip
DOCTOR = DoctorResult(ok=False, checks=[DoctorCheck(name="Docker", status="missing", found="no", remedy="start it")])
HIT = Hit(
    rank=1,
    title="T",
    heading="T > S",
    source="hip",
    path="p",
    url=None,
    version="7.0",
    snippet="s [x] s",
    score=1.0,
    ref="hip:p",
)
SEARCH = SearchResult(query="q", results=[HIT], near=[SectionRef(heading="N [x] n", ref="hip:n")])

SHOWS: dict[str, Callable[[Console], None]] = {
    "check": lambda console: show_check(console, CHECK, KERNEL),
    "compile": lambda console: show_compile(console, COMPILE, KERNEL),
    "benchmark": lambda console: show_benchmark(console, BENCHMARK, KERNEL, None),
    "profile": lambda console: show_profile(console, PROFILE, KERNEL),
    "doctor": lambda console: show_doctor(console, DOCTOR),
    "search": lambda console: show_search(console, SEARCH),
    "jobs": lambda console: show_jobs(console, JOBS),
}


def test_a_heading_near_an_unsure_answer_is_shown_with_the_command_that_reads_it() -> None:
    shown = seen("search")
    assert "N [x] n" in shown
    assert "amdkernel docs read hip:n" in shown


JOBS: JobList = JobList(
    jobs=[
        ListedJob(
            job_id="job-0123456789ab", verb="check", status="done", problem="row_softmax\x1b[2J", age_s=3725,
            target="emulator:gfx942", verdict="incorrect",
        ),
        ListedJob(job_id="job-ba9876543210", verb="profile", status="queued", queue_place=2, target="any:MI300X"),
    ]
)  # fmt: skip


def seen(name: str, width: int = 100, **options: Any) -> str:
    out = io.StringIO()
    SHOWS[name](Console(file=out, width=width, highlight=False, emoji=False, **options))
    return out.getvalue()


@pytest.mark.parametrize("name", SHOWS)
@pytest.mark.parametrize("width", [30, 60, 100])
def test_it_fits_any_terminal(name: str, width: int) -> None:
    for line in seen(name, width).splitlines():
        assert len(line) <= width, f"{len(line)} columns: {line}"


@pytest.mark.parametrize("name", SHOWS)
def test_no_color_is_respected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[31m" in seen("check", force_terminal=True) or "\x1b[1;31m" in seen("check", force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = ("\x1b[31m", "\x1b[1;31m", "\x1b[32m", "\x1b[1;32m", "\x1b[33m", "\x1b[36m")
    text = seen(name, force_terminal=True)
    assert not [code for code in coloured if code in text]


def test_the_verdict_comes_first_and_then_the_worst_element() -> None:
    lines = seen("check").splitlines()
    assert lines[0].startswith("✗ incorrect")
    assert "y[3, 17]  got nan, expected 0.25" in lines[2]


def test_a_finding_shows_the_users_line() -> None:
    text = seen("check")
    assert "k.hip:2  reads x[231]" in text
    assert "     2 │  y[i] = x[i + 1];" in text
    assert "       │  ~~~~" in text


def test_a_diagnostic_points_at_its_column_and_brackets_are_no_markup() -> None:
    lines = seen("compile").splitlines()
    place = next(index for index, line in enumerate(lines) if "2 │" in line)
    assert lines[place][lines[place + 1].index("^")] == "x"
    assert "no [member] 'x'" in seen("compile")


def test_spills_and_zero_families_differ() -> None:
    text = seen("compile")
    assert "valu 1,200 · lds 7" in text
    assert "mfma" not in text


def test_every_figure_carries_its_evidence() -> None:
    assert "12.34 us  modelled" in seen("benchmark")
    assert "1.4x to 1.6x" in seen("benchmark"), "the middle of a modelled interval estimates nothing"
    assert "L2 Hit Rate" in seen("profile")
    assert seen("profile").count("emulated") == 2
    assert "… and 30 more metrics" in seen("profile")


def test_a_finding_says_what_it_may_bring_what_would_refute_it_and_where() -> None:
    text = seen("profile")
    assert "may be   1.2 to 3 times as fast, modelled" in text
    assert "not if   padding changes nothing" in text
    assert "lines    2" in text
    assert "read     amdkernel docs read hip:page" in text


def test_a_comparison_names_what_went_and_what_came() -> None:
    text = seen("profile")
    assert "against before.hip" in text
    assert "gone    Stores are not coalesced  (64 lines)" in text
    assert "new     f" in text
    words = " ".join(text.split())
    assert "bytes_loaded 3 B 1 B emulated" in words
    assert words.index("time of all kernels 24 to 210 us 5 to 12 us modelled faster") < words.index("gone Stores")


def test_a_job_has_its_problem_target_age_and_verdict_and_no_escapes_of_a_name() -> None:
    first, second = seen("jobs", 140).splitlines()[1:]
    for word in ("check", "row_softmax", "emulator:gfx942", "1 h 02 min", "incorrect"):
        assert word in first, first
    assert "\x1b[2J" not in first
    assert "any:MI300X" in second
    assert "place 2" in second


def test_the_doctor_ends_with_the_remedy() -> None:
    assert "→ Docker: start it" in seen("doctor")
    assert "none of this is needed: amdkernel install CLIENT --url URL" in seen("doctor")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (1234567, "1,234,567"), (3.0, "3"), (0.000123456, "0.0001235"), (1234.567, "1,234.57"),
     (float("nan"), "nan"), (float("inf"), "inf"), ("nan", "nan"), (1e30, "1e+30")],
)  # fmt: skip
def test_figures_are_short(value: float | None, text: str) -> None:
    assert number(value) == text

"""Every answer fits, keeps what matters most, and says what it left out."""

from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.engine.verbs.table import AnsweredJob
from amdkernel_mcp.results.compile_comparison import CompileComparison, KernelChange, ResourceChange
from amdkernel_mcp.results.documentation import Hit, ReadResult, SearchResult, SectionRef
from amdkernel_mcp.results.kernels import (
    BenchmarkResult,
    CaseResult,
    CheckResult,
    CompileResult,
    Diagnosis,
    Diagnostic,
    Finding,
    HotLine,
    KernelProfile,
    KernelResources,
    ProfileResult,
    Worst,
)
from amdkernel_mcp.results.quantity import Metric, Result
from amdkernel_mcp.results.tuning import RuleLeaf, ShapeRule, TunedShape, TuneResult, TuneRow
from amdkernel_mcp.server.delivery.truncate import LIMIT_BYTES, size, truncate

LONG = "λ" * 3000
DIAGNOSTICS = [Diagnostic(severity="warning", message=f"{number} {LONG}", line=number) for number in range(100)]
FINDINGS = [Finding(kind="out_of_bounds", message=f"{number} {LONG}", line=number) for number in range(100)]
METRICS = {f"COUNTER_{number}": Metric(value=number / 3, unit="bytes", evidence="emulated") for number in range(150)}
RESOURCES = [
    KernelResources(
        name=f"kernel_{number}_{LONG}",
        vgpr=1,
        agpr=1,
        sgpr=1,
        lds_bytes=1,
        scratch_bytes=1,
        vgpr_spills=1,
        sgpr_spills=1,
        wavefront_size=64,
        occupancy_waves_per_simd=8,
        occupancy_limit="vgpr",
        instructions={f"family_{index}": 1000 for index in range(12)},
    )
    for number in range(50)
]
COMPARED = CompileComparison(
    compared_with=LONG,
    verdict="mixed",
    reason=LONG,
    arch="gfx942",
    flags=["-DA=" + LONG],
    kernels=[
        KernelChange(
            kernel=f"kernel_{number}_{LONG}",
            verdict="worse" if number % 2 else "same",
            figures=[ResourceChange(figure=f"figure_{each}", before=each, after=1) for each in range(20)],
        )
        for number in range(50)
    ],
    gone=[LONG] * 50,
    new=[LONG] * 50,
)
SHAPES = [TunedShape(shape=f"n={number}", verdict="faster", reason=LONG, best={"TILE": LONG}) for number in range(64)]
ROWS = [
    TuneRow(values={"TILE": str(number)}, verdict="correct", reason=LONG, shape=f"n={number}") for number in range(900)
]
RULE = ShapeRule(leaves=[RuleLeaf(when=LONG, line=LONG) for _ in range(4)], held_out=16)
CASES = [
    CaseResult(
        case=f"n={number}",
        held_out=False,
        verdict="correct" if number != 77 else "incorrect",
        reason=LONG,
        worst=Worst(argument="y", index=[1, 2, 3], got=LONG, expected=1.0),
    )
    for number in range(100)
]
PROFILES = [
    KernelProfile(
        name=f"kernel {LONG}",
        dispatches=1,
        metrics=METRICS,
        bound=None,
        hot_lines=[HotLine(line=number, source=LONG, share=0.1, evidence="emulated") for number in range(50)],
    )
    for _ in range(20)
]
DIAGNOSES = [
    Diagnosis.model_validate({"finding": LONG, "because": LONG, "try": LONG, "docs": [LONG] * 3}) for _ in range(12)
]
HITS = [
    Hit(rank=1, title="t", heading=LONG, source="s", path="p", url=None, version=None, snippet=LONG, score=1, ref="r")
    for _ in range(20)
]
READING = ReadResult(
    ref="r",
    title="t",
    heading="h",
    source="s",
    path="p",
    url=None,
    version=None,
    text=LONG * 5,
    start=100,
    next_start=15100,
    total_chars=40000,
    sections=[SectionRef(heading=LONG, ref="r")] * 60,
)
HUGE: list[Any] = [
    CompileResult(ok=True, isa=LONG * 5, diagnostics=DIAGNOSTICS, kernels=RESOURCES),
    CheckResult(verdict="incorrect", reason=LONG, cases=CASES, findings=FINDINGS, diagnostics=DIAGNOSTICS),
    BenchmarkResult(diagnostics=DIAGNOSTICS, findings=FINDINGS, counters=METRICS, flags=[LONG] * 20, reason=LONG),
    ProfileResult(
        kernels=PROFILES, diagnosis=DIAGNOSES, diagnostics=DIAGNOSTICS, findings=FINDINGS, warnings=[LONG] * 20
    ),
    SearchResult(query=LONG, results=HITS, applied=[LONG]),
    READING,
    CompileResult(ok=True, kernels=RESOURCES, comparison=COMPARED),
    TuneResult(reason=LONG, shapes=SHAPES, rows=ROWS, rule=RULE, notes=[LONG]),
]
HUGE += [
    AnsweredJob.model_validate({"job_id": "job-0", "status": "done", "check": HUGE[1]}),
    AnsweredJob.model_validate({"job_id": "job-0", "status": "done", "profile": HUGE[3]}),
]


@pytest.mark.parametrize("huge", HUGE, ids=lambda huge: type(huge).__name__)
def test_the_largest_answer_fits_and_is_still_a_valid_one(huge: Result, tmp_path: Path) -> None:
    small = truncate(huge, tmp_path)
    assert size(small) <= LIMIT_BYTES, f"{size(small)} bytes"
    assert type(huge).model_validate_json(small.model_dump_json(by_alias=True)) == small


def test_an_answer_that_fits_is_left_alone(tmp_path: Path) -> None:
    answer = CompileResult(ok=True, diagnostics=DIAGNOSTICS[:1])
    assert truncate(answer, tmp_path) is answer
    assert not list(tmp_path.iterdir())


def test_what_is_wrong_is_kept_before_what_is_right(tmp_path: Path) -> None:
    small = truncate(CheckResult(verdict="incorrect", cases=CASES), tmp_path)
    assert "incorrect" in {case.verdict for case in small.cases}
    error = Diagnostic(severity="error", message="the one error", line=1)
    compiled = truncate(CompileResult(diagnostics=[*DIAGNOSTICS, error]), tmp_path)
    assert "the one error" in {diagnostic.message for diagnostic in compiled.diagnostics}


def test_it_says_how_much_was_left_out_and_where_the_whole_is(tmp_path: Path) -> None:
    whole = CheckResult(verdict="incorrect", cases=CASES)
    small = truncate(whole, tmp_path)
    assert any(note.endswith("of 100 cases") for note in small.left_out), small.left_out
    artefact = small.artefacts[-1]
    assert CheckResult.model_validate_json(Path(artefact.path).read_text()) == whole


def test_reading_on_after_a_cut_skips_nothing(tmp_path: Path) -> None:
    small = truncate(READING, tmp_path)
    assert small.next_start == READING.start + len(small.text)
    assert READING.text.startswith(small.text)
    assert len(small.text) > 1500


def test_an_answer_whose_whole_cannot_be_written_is_returned_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = truncate(CompileResult(ok=True, diagnostics=DIAGNOSTICS), tmp_path / "file" / "answers")
    assert result.diagnostics
    assert not result.artefacts
    assert result.not_cached == ["the whole answer was not kept: the cache folder cannot be written: Not a directory"]
    assert size(result) <= LIMIT_BYTES

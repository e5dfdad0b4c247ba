"""Runs the steps on one target and compares each verdict with the right one."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.hardware.target import is_emulated
from amdkernel_mcp.progress import silent
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.selftest import NOT_RUN, SelftestResult, SelftestRow
from amdkernel_mcp.selftest.clock import clock_rows
from amdkernel_mcp.selftest.steps import STEPS, Step
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings

TOGETHER = 2
"""Steps at a time: most of one is waiting for containers."""
FLOOR = 0.02
"""How far from 1 the speed-up of a kernel over itself may be."""


def selftest(
    settings: Settings,
    *,
    target: str | None = None,
    hang: bool = False,
    work: Work | None = None,
) -> SelftestResult:
    """Whether every step gets its verdict on `target`. Raises what the engine raises where it cannot work at all.

    hang: also run the kernels that never end where a reset of the GPU takes down others or a desktop, or may do so.
    The history of these attempts lies in a folder that is removed; the caller's history does not get them.
    """
    began = time.monotonic()
    name = target or settings.default_target
    with tempfile.TemporaryDirectory(prefix="amdkernel-selftest-") as folder:
        engine = Engine(settings.model_copy(update={"data_dir": Path(folder), "database": None}))
        try:
            why_not = None if hang else engine.machine.why_not_hang(name)
            rows = _run_steps(engine, name, why_not, work or Work())
        finally:
            engine.close()
    rows += clock_rows()
    seconds = round(time.monotonic() - began, 1)
    return SelftestResult(ok=all(row.ok for row in rows), target=name, seconds=seconds, rows=rows)


def _run_steps(engine: Engine, target: str, why_not: str | None, work: Work) -> list[SelftestRow]:
    """Steps side by side, but those that are to run alone after all others, one by one.

    why_not: why none that hangs is to run.
    """
    emulated = target.startswith("emulator:")

    def run(step: Step) -> SelftestRow:
        work.say(step.name)
        if step.hangs and why_not:
            return _left_out(step, why_not)
        return _run(engine, work, step, target, step.verdicts if emulated else step.on_gpu or step.verdicts)

    first = run(STEPS[0])  # what cannot work at all raises here, once
    with ThreadPoolExecutor(TOGETHER) as pool:
        rows = list(pool.map(run, (step for step in STEPS[1:] if not step.alone)))
    return [first, *rows, *(run(step) for step in STEPS if step.alone)]


def _run(engine: Engine, work: Work, step: Step, target: str, expected: tuple[str, ...]) -> SelftestRow:
    answer: CheckResult | BenchmarkResult
    part = work.saying(silent)
    if step.baseline is None:
        answer = engine.do(
            Check(
                problem=step.folder,
                source=step.source,
                file_name=f"{step.kernel}.hip",
                target=target,
                options=CheckOptions(hang=True),  # which of these hang is known: they were asked for, or it is alone
            ),
            part,
        )
    else:
        answer = engine.do(
            Benchmark(
                problem=step.folder,
                source=step.source,
                file_name=f"{step.kernel}.hip",
                baseline=step.baseline_source,
                target=target,
            ),
            part,
        )
    got = str(answer.verdict)
    good = got in expected and (not (step.near_one or step.copy) or _near_one(answer))
    if step.copy and is_emulated(target):
        good = good and isinstance(answer, BenchmarkResult) and answer.speedup == Interval(value=1, low=1, high=1)
    return SelftestRow(
        name=step.name,
        verb="check" if step.baseline is None else "benchmark",
        expected=list(expected),
        got=got,
        ok=good,
        reason=answer.reason,
    )


def _left_out(step: Step, why: str) -> SelftestRow:
    return SelftestRow(
        name=step.name,
        verb="check",
        expected=list(step.on_gpu or step.verdicts),
        got=NOT_RUN,
        ok=True,
        reason=f"{why}: with --hang it runs",
    )


def _near_one(answer: CheckResult | BenchmarkResult) -> bool:
    value = answer.speedup.value if isinstance(answer, BenchmarkResult) else None
    floor = answer.noise_floor if isinstance(answer, BenchmarkResult) else None
    return value is not None and abs(value - 1) <= max(FLOOR, floor or 0.0)

"""The verb: a sweep on one case, or on each shape of a table; a cancelled one keeps its finished rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.check import invalid
from amdkernel_mcp.engine.tuning.ranking import RankedRow
from amdkernel_mcp.engine.tuning.space import TuneOptions, space_of
from amdkernel_mcp.engine.tuning.sweep import Sweep
from amdkernel_mcp.engine.tuning.tune_shapes import tune_shapes
from amdkernel_mcp.errors import JobError
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.tuning import TuneResult
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel


@dataclass(frozen=True)
class Tuned:
    """The answer, and the rows as benchmarks, for their records."""

    result: TuneResult
    rows: tuple[RankedRow, ...] = ()


def tune(
    steps: KernelSteps,
    base: PreparedKernel,
    options: TuneOptions,
    work: Work,
    *,
    on_cancel: Callable[[Tuned], object],
) -> Tuned:
    """Try the values of a kernel's `tune` lines. `base`: the kernel with its default values.

    `on_cancel`: gets the finished rows, unranked, of a sweep that is cancelled.

    Raises InputError for a kernel without such a line; a bad line is the verdict `invalid`.
    """
    began = time.monotonic()
    if base.plan.mistakes:
        return Tuned(_invalid(invalid(base.plan.mistakes), base))
    space = space_of(base.plan, file_name=base.file_name)
    if options.shapes is not None:
        return Tuned(result=tune_shapes(steps, base, space, options, work))
    sweep = Sweep(steps, base, space, options, work)

    def answer(rows: Sequence[RankedRow]) -> TuneResult:
        return sweep.answer(rows).model_copy(update={"seconds": round(time.monotonic() - began, 3)})

    try:
        rows = sweep.rows_ranked()
    except JobError:  # it was cancelled
        if rows := sweep.finished_rows():
            on_cancel(Tuned(_cancelled(answer(rows), sweep.total), tuple(rows)))
        raise
    return Tuned(answer(rows), tuple(rows))


def _cancelled(ranked: TuneResult, total: int) -> TuneResult:
    """The finished rows without a choice: nothing was checked on all cases, and other rows may be better."""
    rows = [row.model_copy(update={"rank": None, "tie": False}) for row in ranked.rows]
    reason = f"cancelled after {len(rows)} of {total} rows, so none was chosen"
    nothing: dict[str, object] = {"best": None, "line": None, "speedup": Interval(), "findings": []}
    return ranked.model_copy(update={"verdict": "not_measured", "reason": reason, "rows": rows, **nothing})


def _invalid(refusal: CheckResult, base: PreparedKernel) -> TuneResult:
    return TuneResult(
        verdict="invalid",
        reason=refusal.reason,
        findings=refusal.findings,
        target=base.target.name,
        isolation=base.sandbox.isolation,
    )

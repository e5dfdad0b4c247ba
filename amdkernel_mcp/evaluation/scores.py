"""correct and fast_p of a suite.

fast_p is KernelBench's measure (Ouyang et al., 2025, section 4): the share of problems whose kernel is correct and more
than p times as fast as the baseline. A second share counts only what our evidence proves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from amdkernel_mcp.results.evaluation import EvaluatedKernel, FastP, Scores

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)


def scores(problems: Sequence[str], rows: Sequence[EvaluatedKernel]) -> Scores:
    """Scores of `rows` over `problems`; those that failed for reasons of the machine are left out."""
    judged: dict[str, list[EvaluatedKernel]] = {name: [] for name in problems}
    for row in rows:
        if row.failed is None:
            judged[row.problem].append(row)
    groups = [*judged.values()]
    return Scores(
        problems=len(problems),
        candidates=len(rows),
        failed=sum(row.failed is not None for row in rows),
        correct=_mean(groups, _is_correct),
        fast_p=[_fast_p(groups, p, _mean) for p in THRESHOLDS],
        best_correct=_best(groups, _is_correct),
        best_fast_p=[_fast_p(groups, p, _best) for p in THRESHOLDS],
        speedup_evidence=sorted({row.evidence for row in rows if row.speedup.value is not None}),
    )


Holds = Callable[[EvaluatedKernel], bool]
Groups = Sequence[Sequence[EvaluatedKernel]]


def _mean(groups: Groups, holds: Holds) -> float:
    return fmean([fmean([holds(row) for row in group]) if group else 0.0 for group in groups] or [0.0])


def _best(groups: Groups, holds: Holds) -> float:
    return fmean([any(holds(row) for row in group) for group in groups] or [0.0])


def _fast_p(groups: Groups, p: float, over: Callable[[Groups, Holds], float]) -> FastP:
    return FastP(
        p=p,
        share=over(groups, lambda row: is_fast(row, p)),
        proven=over(groups, lambda row: is_proven(row, p)),
    )


def _is_correct(row: EvaluatedKernel) -> bool:
    return row.check == "correct"


def is_fast(row: EvaluatedKernel, p: float) -> bool:
    """Whether the estimate says so; a benchmark that is invalid or found wrong outputs counts for nothing."""
    timed = row.benchmark in ("faster", "slower", "inconclusive")
    return _is_correct(row) and timed and row.speedup.value is not None and row.speedup.value > p


def is_proven(row: EvaluatedKernel, p: float) -> bool:
    """Whether the whole interval says so and nothing about the time is in doubt."""
    decided = row.benchmark in ("faster", "slower") or (
        row.benchmark == "inconclusive" and "suspicious" not in row.flags
    )
    return is_fast(row, p) and decided and row.speedup.low is not None and row.speedup.low > p

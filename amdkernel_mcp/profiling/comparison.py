"""What differs between the profiles of two kernels: times, findings and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.measurement.timing.statistics import Estimate
from amdkernel_mcp.profiling.remains import REMAINS
from amdkernel_mcp.profiling.rules.answer import RULED_OUT
from amdkernel_mcp.profiling.time_change import time_changes
from amdkernel_mcp.results.kernels import Comparison, FigureChange, KernelProfile, PastFinding, ProfileResult
from amdkernel_mcp.results.quantity import Evidence, Metric

NOTICEABLE = 1.1
"""Figures that differ by less than this factor are left out."""

MOST_FIGURES = 8
"""Of a comparison."""

# True: less is better. The most decisive first.
_LESS_IS_BETTER: dict[str, bool] = {
    "cache_lines_loaded": True,
    "cache_lines_stored": True,
    "bytes_loaded": True,
    "bytes_stored": True,
    "Load Coalescing": False,
    "Store Coalescing": False,
    "SQ_LDS_BANK_CONFLICT": True,
    "SQC_LDS_BANK_CONFLICT": True,
    "SQ_INSTS": True,
    "SQ_WAVE32_INSTS": True,
    "SQ_WAVE64_INSTS": True,
    "SQ_INSTS_VALU": True,
    "SQ_INSTS_VMEM_RD": True,
    "SQ_INSTS_VMEM_WR": True,
    "vector_loads": True,
    "vector_stores": True,
    "SQ_INSTS_LDS": True,
    "VALU Lane Utilization": False,
    "Waves per SIMD Slot": False,
    "VGPR Spills": True,
    "Scratch": True,
    "Occupancy Limit": False,
    "HBM read+write, % of peak": False,
    "vL1D Coalescing": False,
    "LDS Bank Conflicts/Access": True,
    "VALU Active Threads": False,
}
_SUMMED = {name for name in _LESS_IS_BETTER if name.startswith(("SQ", "bytes_", "cache_", "vector_"))}


@dataclass(frozen=True)
class Difference:
    """One figure of both kernels; `better` says that the second kernel's is the better one."""

    metric: str
    unit: str
    evidence: Evidence
    before: float
    after: float
    better: bool

    @property
    def sentence(self) -> str:
        """`cache_lines_loaded: 64 times less (1.05e+06 to 1.64e+04 lines, modelled)`."""
        return f"{self.metric}: {self._change} ({self.before:.4g} to {self.after:.4g} {self.unit}, {self.evidence})"

    @property
    def _change(self) -> str:
        if not self.after or not self.before:
            return "now 0" if not self.after else "new"
        factor = max(self.after, self.before) / min(self.after, self.before)
        return f"{factor:.3g} times {'less' if self.after < self.before else 'more'}"


def compare(before: ProfileResult, after: ProfileResult) -> list[Difference]:
    """The figures that differ, the most decisive first. Counts are summed over all kernels of a profile.

    Figures that cannot be summed (shares, registers) are those of the kernel with most time.
    """
    differences = []
    for name, less_is_better in _LESS_IS_BETTER.items():
        one, other = _figure(before.kernels, name), _figure(after.kernels, name)
        if one is None or other is None or one.value is None or other.value is None:
            continue
        if not _differs(one.value, other.value):
            continue
        better = (other.value < one.value) == less_is_better
        differences.append(Difference(name, other.unit, other.evidence, one.value, other.value, better))
    return differences


def _differs(one: float, other: float) -> bool:
    small, large = sorted((one, other))
    return large > 0 and (small <= 0 or large / small >= NOTICEABLE)


def _figure(kernels: Sequence[KernelProfile], name: str) -> Metric | None:
    metrics: list[Mapping[str, Metric]] = [kernel.metrics for kernel in kernels if name in kernel.metrics]
    if not metrics:
        return None
    first = metrics[0][name]
    values = [m[name].value for m in metrics]
    if name not in _SUMMED or len(values) == 1 or None in values:
        return first
    return first.model_copy(update={"value": sum(value for value in values if value is not None)})


def comparison(before: ProfileResult, after: ProfileResult, *, name: str, ratio: Estimate | None = None) -> Comparison:
    """Times, which findings went and came, and the figures that differ most decisively. `name`: of the kernel before.

    ratio: how many times as fast all kernels together are, where that is known better than from both times. A
    finding is that of its kernel: the same title for another kernel is another finding.
    """
    same = _same_kernels(before.kernels, after.kernels)
    named = len(before.kernels) > 1 or len(after.kernels) > 1
    old = {_title(each, named): row for each, row in _findings(before, same).items()}
    new = [_title(each, named) for each in _findings(after, {})]
    figures = [
        FigureChange(
            metric=each.metric,
            unit=each.unit,
            evidence=each.evidence,
            before=each.before,
            after=each.after,
            better=each.better,
        )
        for each in compare(before, after)[:MOST_FIGURES]
    ]
    return Comparison(
        compared_with=name,
        times=time_changes(before.kernels, after.kernels, same, ratio),
        gone=[PastFinding(finding=what, because=because) for what, because in old.items() if what not in new],
        new=[what for what in new if what not in old],
        stayed=[what for what in new if what in old],
        figures=figures,
    )


def _same_kernels(before: Sequence[KernelProfile], after: Sequence[KernelProfile]) -> dict[str, str]:
    """Name now by name before. A single kernel left on both sides is the same one under another name."""
    old, new = [kernel.name for kernel in before], [kernel.name for kernel in after]
    same = {name: name for name in old if name in new}
    gone, came = [name for name in old if name not in same], [name for name in new if name not in same]
    return same | dict(zip(gone, came, strict=True)) if len(gone) == len(came) == 1 else same


def _title(found: tuple[str, str], named: bool) -> str:
    kernel, what = found
    return f"{kernel}: {what}" if named and kernel else what


def _findings(result: ProfileResult, same: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Because by kernel, under its name in `same`, and finding; without what is ruled out."""
    found = {}
    for row in result.diagnosis:
        kernel, what = _split(row.finding, [kernel.name for kernel in result.kernels])
        if not what.startswith((RULED_OUT, REMAINS)):
            found[same.get(kernel, kernel), what] = row.because
    return found


def _split(finding: str, kernels: Sequence[str]) -> tuple[str, str]:
    """The kernel that a finding names, and the rest. Without a name it is that of the only kernel."""
    for name in kernels:
        for prefix in (f"{name}: ", f"{name[:80]}: "):
            if finding.startswith(prefix):
                return name, finding.removeprefix(prefix)
    return kernels[0] if len(kernels) == 1 else "", finding

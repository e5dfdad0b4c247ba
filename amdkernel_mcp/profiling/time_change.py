"""What a change did to the time of each kernel and of all, and what two intervals allow to say about that."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import floor

from amdkernel_mcp.counted import rounded
from amdkernel_mcp.measurement.timing.statistics import Estimate
from amdkernel_mcp.results.kernels import KernelProfile, Span, TimeChange
from amdkernel_mcp.results.quantity import Evidence


def time_changes(
    before: Sequence[KernelProfile],
    after: Sequence[KernelProfile],
    same: Mapping[str, str],
    ratio: Estimate | None = None,
) -> list[TimeChange]:
    """All kernels first, then each of several. `same`: the name now of a kernel before. `ratio`: of all, if known."""
    old = {same.get(kernel.name, kernel.name): _time(kernel) for kernel in before}
    new = {kernel.name: _time(kernel) for kernel in after}
    evidence: Evidence = "modelled" if any(kernel.modelled_us for kernel in (*before, *after)) else "measured"
    rows = [_row(None, _sum(old.values()), _sum(new.values()), evidence)]
    launches, now = (sum(kernel.dispatches for kernel in kernels) for kernels in (before, after))
    if ratio is not None:
        rows[0] = rows[0].model_copy(update={"says": what_a_ratio_says(ratio)})
    if evidence == "measured" and launches != now:
        rows[0] = rows[0].model_copy(update={"says": f"not distinguished: {launches:,} launches before, {now:,} now"})
    if len(old) == len(new) == 1:
        return rows
    names = [*new, *(name for name in old if name not in new)]
    each = [_row(name, old.get(name), new.get(name), evidence) for name in names]
    return rows + [row if row.kernel in old and row.kernel in new else _of_one_side(row, new) for row in each]


def _of_one_side(row: TimeChange, now: Collection[str]) -> TimeChange:
    return row.model_copy(update={"says": "only now" if row.kernel in now else "only before"})


def _row(kernel: str | None, before: Span | None, after: Span | None, evidence: Evidence) -> TimeChange:
    says = what_they_say(before, after)
    return TimeChange(kernel=kernel, before=before, after=after, evidence=evidence, says=says)


def what_they_say(before: Span | None, after: Span | None) -> str:
    """The least factor that two intervals without a common point show; of others, that they show none."""
    if before is None or after is None:
        return "not distinguished: a time is not known"
    if before.low == before.high or after.low == after.high:
        return "not distinguished: timed once, so that the spread is not known"
    if before.low > after.high > 0:
        return f"faster: at least {_floored(before.low / after.high)} times as fast"
    if after.low > before.high > 0:
        return f"slower: at least {_floored(after.low / before.high)} times as long"
    return "not distinguished: the intervals overlap"


def what_a_ratio_says(ratio: Estimate) -> str:
    """The whole interval, with its middle."""
    if ratio.low == ratio.high == 1:
        return "the same: both have the same machine code, and it did the same"
    span = (
        f"{rounded(ratio.low, 3)} to {rounded(ratio.high, 3)} times as fast ({rounded(ratio.value, 3)} in the middle)"
    )
    if ratio.low > 1:
        return f"faster: {span}"
    return f"slower: {span}" if ratio.high < 1 else f"not distinguished: {span}"


def _floored(factor: float) -> str:
    """Three digits, never more than the factor."""
    if factor >= 100:
        return f"{floor(factor):,}"
    return f"{floor(10 * factor) / 10:g}" if factor >= 10 else f"{floor(100 * factor) / 100:g}"


def _time(kernel: KernelProfile) -> Span | None:
    """Of all launches: modelled, else as if each took as long as the shortest, or the longest, that was measured."""
    if kernel.modelled_us:
        return kernel.modelled_us
    ends = [kernel.metrics.get(f"Kernel Time, {end}") for end in ("shortest", "longest")]
    low, high = (end.value if end else None for end in ends)
    if low is None or high is None:
        return None
    return Span(low=low * kernel.dispatches / 1000, high=high * kernel.dispatches / 1000)


def _sum(spans: Iterable[Span | None]) -> Span | None:
    known = list(spans)
    if not known or None in known:
        return None
    return Span(low=sum(each.low for each in known if each), high=sum(each.high for each in known if each))

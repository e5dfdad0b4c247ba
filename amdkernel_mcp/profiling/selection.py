"""Which kernels of a recording a profile is about: a training run has thousands of launches of a hundred kernels."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import InputError, ProfileFileError
from amdkernel_mcp.profiling.metrics.evaluation import kernel_ns
from amdkernel_mcp.profiling.readers.recording import Recording

MOST_KERNELS = 20
"""In a profile, unless more are asked for."""
LARGEST_LIMIT = 1000
_NAMED = 5


def select_kernels(recording: Recording, *, kernel: str = "", limit: int | None = None) -> Recording:
    """The recording with the `limit` kernels that took most time, of those whose names hold `kernel` in any case.

    A warning counts those that were left out. Raises ProfileFileError where no kernel has such a name, InputError for a
    limit below 1 or above LARGEST_LIMIT.
    """
    most = MOST_KERNELS if limit is None else limit
    if not 1 <= most <= LARGEST_LIMIT:
        raise InputError(f"the limit is {most}; it must be 1 to {LARGEST_LIMIT}")
    times = _times(recording)
    found = [name for name in _by_cost(recording, times) if kernel.lower() in name.lower()]
    if kernel and not found:
        names = ", ".join(name[:60] for name in _by_cost(recording, times)[:_NAMED])
        raise ProfileFileError(f"no kernel of the recording has {kernel[:60]!r} in its name", hint=f"it has {names}")
    chosen = set(found[:most])
    return replace(
        recording,
        dispatches=tuple(one for one in recording.dispatches if one.kernel in chosen),
        totals=tuple(row for row in recording.totals if row.kernel in chosen),
        code=tuple(each for each in recording.code if each.kernel in chosen or each.mangled in chosen),
        warnings=recording.warnings + _left_out(times, found, chosen),
    )


def _times(recording: Recording) -> Counter[str]:
    """The time of each kernel in ns; 0 where the recording has none."""
    times = Counter[str]()
    for dispatch in recording.dispatches:
        times[dispatch.kernel] += int(kernel_ns(dispatch) or 0)
    for row in recording.totals:
        times[row.kernel] += row.total_ns
    return times


def _by_cost(recording: Recording, times: Counter[str]) -> list[str]:
    """All kernels, those with most time first, then those with most samples or traced cycles."""
    weights = Counter[str]()
    for each in recording.code:
        weights[each.mangled if each.mangled in times else each.kernel] += each.total.weight
    return sorted(times.keys() | weights.keys(), key=lambda name: (-times[name], -weights[name], name))


def _left_out(times: Counter[str], found: list[str], chosen: Collection[str]) -> tuple[str, ...]:
    left = [name for name in found if name not in chosen]
    if not left:
        return ()
    whole, part = sum(times.values()), sum(times[name] for name in left)
    share = f" with {part / whole:.1%} of the time" if whole else ""
    return (f"{counted(len(left), 'more kernel')}{share}: --limit or --kernel shows them",)

"""Counters of Radeons whose clock was gated: at the performance level `auto` they read 0 and count nothing.

Source: ROCm documentation, "Using rocprofv3", performance level of gfx11 and gfx12; ROCm/rocm-systems issue 5953.
Not seen on hardware: no GPU was available.
"""

from collections.abc import Iterable
from dataclasses import replace

from amdkernel_mcp.profiling.readers.recording import Pass, RecordedDispatch, Recording
from amdkernel_mcp.profiling.rocprofv3 import EVERYWHERE, block_of

GATING = ("gfx11", "gfx12")
_REMEDY = "`sudo amd-smi set -l stable_std`, and `auto` again afterwards"


def level_warning(gfx: str, level: str | None) -> list[str]:
    """What is to be said before counting at this level (`power_dpm_force_performance_level`); None: not known."""
    if level == "auto" and gfx.startswith(GATING):
        return [f"the performance level of this GPU is auto, at which counters of {gfx} may read 0: {_REMEDY}"]
    return []


def without_gated_blocks(recording: Recording, gfx: str) -> tuple[Recording, list[str]]:
    """The recording without the counters of blocks that read 0 in all dispatches of such a GPU, and a warning.

    Without them what they would give is `not_measured`, not 0. A GPU that was not active at all is another matter.
    """
    if not gfx.startswith(GATING):
        return recording, []
    counted = [one for dispatch in recording.dispatches for one in dispatch.passes]
    if not any(one.counters.get(EVERYWHERE) for one in counted):
        return recording, []
    gated = _blocks(counted, any_value=True) - _blocks(counted, any_value=False)
    if not gated:
        return recording, []
    kept = tuple(replace(each, passes=_without(each, gated)) for each in recording.dispatches)
    said = (
        f"all counters of {', '.join(sorted(gated))} are 0, as those of a gated block on {gfx}: not measured; {_REMEDY}"
    )
    return replace(recording, dispatches=kept), [said]


def _blocks(counted: Iterable[Pass], *, any_value: bool) -> set[str]:
    """The blocks with counters, or those that counted something; GRBM's clock is that of the whole GPU, and rocprofv3's
    own metrics, whose names have no block, are 0 where a kernel does nothing of the kind."""
    return {
        block_of(name)
        for one in counted
        for name, value in one.counters.items()
        if (any_value or value) and "_" in name and block_of(name) != "GRBM"
    }


def _without(dispatch: RecordedDispatch, blocks: set[str]) -> tuple[Pass, ...]:
    return tuple(
        replace(one, counters={name: value for name, value in one.counters.items() if block_of(name) not in blocks})
        for one in dispatch.passes
    )

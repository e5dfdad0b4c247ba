"""The profile of a recording on disk: metrics with notes, warnings, and a diagnosis where the data allows one."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from statistics import fmean, median

from amdkernel_mcp.hardware.specs import Gpu, gpu_by_name, lookup
from amdkernel_mcp.profiling.gated_counters import without_gated_blocks
from amdkernel_mcp.profiling.metrics.evaluation import Aggregation, constants, counted, evaluate, kernel_ns
from amdkernel_mcp.profiling.metrics.metric import quantity
from amdkernel_mcp.profiling.metrics.recorded import definitions
from amdkernel_mcp.profiling.readers.read import read_recording
from amdkernel_mcp.profiling.readers.recording import KernelTotals, RecordedDispatch, Recording, Shape
from amdkernel_mcp.profiling.recorded_code import add_code, code_warnings, diagnose_kernels
from amdkernel_mcp.profiling.recorded_shape import shape_metrics
from amdkernel_mcp.profiling.report import OUTLIERS, reason, warnings
from amdkernel_mcp.profiling.rules.recorded import bound_of
from amdkernel_mcp.profiling.selection import select_kernels
from amdkernel_mcp.results.kernels import Focus, KernelProfile, ProfileResult
from amdkernel_mcp.results.quantity import Metric

MOST_RAW_COUNTERS = 64
"""A workload folder has hundreds; above this number a profile lists only the most important counters."""
OUTLIER, FEWEST_ALIKE = 5, 3
"""From this many times the median on, of at least so many equal launches, a dispatch is left out of the means."""
_MOST_IMPORTANT = ("SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_VMEM_RD",
              "SQ_INSTS_VMEM_WR", "SQ_INSTS_MFMA", "SQ_LDS_BANK_CONFLICT", "GRBM_GUI_ACTIVE")  # fmt: skip


def import_recording(
    path: Path,
    *,
    gpu: str | None = None,
    rule: Aggregation = "mean_of_ratios",
    kernel: str = "",
    limit: int | None = None,
    focus: Focus | None = None,
) -> ProfileResult:
    """The profile of what a profiler wrote to `path`, kernels with most time first.

    `gpu` names the GPU where the recording does not, or names a wrong one. `rule` says how dispatches are averaged.
    `kernel`: a part of the names of the wanted kernels; `limit`: how many of them, MOST_KERNELS unless it is given.
    `focus`: the topic that the diagnosis is about, None for all.
    Raises ProfileFileError for a recording that is damaged or inconsistent, UnknownTargetError for an unknown `gpu`.
    """
    given = gpu_by_name(gpu) if gpu else None
    recording = select_kernels(read_recording(path), kernel=kernel, limit=limit)
    part, about_gpu = _part(recording, given)
    gfx = part.gfx if part else (recording.device.gfx or "").split(":")[0]
    recording, gated = without_gated_blocks(recording, gfx)
    kernels = [
        _profile(name, dispatches, part, gfx, rule) for name, dispatches in _by_kernel(recording.dispatches).items()
    ] or [_totals(row) for row in recording.totals]
    kernels = add_code(kernels, recording)
    kernels.sort(key=lambda kernel: -(kernel.metrics["Total Time"].value or 0))
    return ProfileResult(
        kernels=kernels,
        diagnosis=diagnose_kernels(kernels, recording.code, focus=focus),
        focus=focus,
        reason=reason(recording, part, rule),
        warnings=[
            *recording.warnings,
            *about_gpu,
            *gated,
            *warnings(recording, kernels),
            *code_warnings(recording.code),
        ],
    )


def _part(recording: Recording, given: Gpu | None) -> tuple[Gpu | None, list[str]]:
    """The GPU whose figures are used, and where the recording contradicts them."""
    device = recording.device
    found = given or lookup(device.name, cus=device.cus) or lookup(device.gfx, cus=device.cus) or lookup(device.name)
    if found is None:
        if not recording.dispatches and not recording.totals:
            return None, []  # samples and traces need no figure of the GPU
        what = f"{device.gfx} with {device.cus} CUs" if device.gfx else "the recording does not name it"
        return None, [f"unknown GPU ({what}): no percentages of peaks; name it with --gpu"]
    odd = [] if found.has_roofs else [f"the peaks of {found.name} are not known: no percentages of them"]
    if device.gfx and device.gfx.split(":")[0] != found.gfx:
        odd.append(f"the recording names {device.gfx}, but the figures used are those of {found.name} ({found.gfx})")
    for what, theirs, ours in (("CUs", device.cus, found.cus), ("XCDs", device.xcds, found.xcds)):
        if theirs and theirs != ours:
            odd.append(f"the recording says {theirs} {what}; the {ours} of {found.name} are used")
    return found, odd


def _by_kernel(dispatches: Iterable[RecordedDispatch]) -> dict[str, list[RecordedDispatch]]:
    kernels: dict[str, list[RecordedDispatch]] = {}
    for dispatch in dispatches:
        kernels.setdefault(dispatch.kernel, []).append(dispatch)
    return kernels


def _profile(
    name: str, dispatches: Sequence[RecordedDispatch], gpu: Gpu | None, gfx: str, rule: Aggregation
) -> KernelProfile:
    usual = usual_dispatches(dispatches)
    metrics = _times(usual, dispatches) | shape_metrics(dispatches[0].shape, gfx)
    all_of_them, dispatches = len(dispatches), usual
    if any(dispatch.passes for dispatch in dispatches):
        if gpu is not None and gpu.has_roofs:
            metrics["HBM peak"] = quantity(gpu.memory_gbps, "GB/s", "static")
        known, ready = constants(gpu), [counted(dispatch) for dispatch in dispatches]
        for definition in definitions(gfx):
            metric = evaluate(definition, ready, known, rule)
            if definition.text or metric.value is not None:  # what profilers may compute is missed in no recording
                metrics[definition.name] = metric
        metrics |= _raw(dispatches)
    return KernelProfile(name=name, dispatches=all_of_them, metrics=metrics, bound=bound_of(metrics))


def usual_dispatches(dispatches: Sequence[RecordedDispatch]) -> list[RecordedDispatch]:
    """Those that means are taken over: without the few that took many times as long as others of the same launch.

    The first launch touches memory for the first time and loads code: 430 ms next to 0.63 ms has been recorded.
    """
    alike: dict[Shape, list[RecordedDispatch]] = {}
    for dispatch in dispatches:
        alike.setdefault(dispatch.shape, []).append(dispatch)
    odd: set[int] = set()
    for group in alike.values():
        took = {id(one): ns for one in group if (ns := kernel_ns(one))}
        if len(took) < FEWEST_ALIKE:
            continue
        limit = OUTLIER * median(took.values())
        longer = {key for key, ns in took.items() if ns > limit}
        if len(longer) <= max(1, len(took) // 4):  # more are a second kind of launch
            odd |= longer
    return [dispatch for dispatch in dispatches if id(dispatch) not in odd]


def _times(usual: Sequence[RecordedDispatch], dispatches: Sequence[RecordedDispatch]) -> dict[str, Metric]:
    """The mean is over `usual`, the longest and the total over all `dispatches`."""
    took = [ns for dispatch in dispatches if (ns := kernel_ns(dispatch)) is not None]
    middle = [ns for dispatch in usual if (ns := kernel_ns(dispatch)) is not None]
    rows: Mapping[str, float | None] = {
        "Kernel Time": fmean(middle) if middle else None,
        "Kernel Time, median": median(middle) if middle else None,
        "Kernel Time, shortest": min(took, default=None),
        "Kernel Time, longest": max(took, default=None),
        "Total Time": sum(took) if took else None,
    }
    times = {name: quantity(value, "ns", "measured") for name, value in rows.items()}
    left_out = len(dispatches) - len(usual)
    if left_out:
        times[OUTLIERS] = quantity(left_out, "count", "measured")
    return times | {"Dispatches": quantity(len(dispatches), "count", "measured")}


def _raw(dispatches: Sequence[RecordedDispatch]) -> dict[str, Metric]:
    """Each counter as recorded: the mean over the dispatches that have it, from the first pass that has it."""
    values: dict[str, list[float]] = {}
    for dispatch in dispatches:
        first: dict[str, float] = {}
        for one in reversed(dispatch.passes):
            first |= one.counters
        for name, value in first.items():
            values.setdefault(name, []).append(value)
    shown = values if len(values) <= MOST_RAW_COUNTERS else {n: values[n] for n in _MOST_IMPORTANT if n in values}
    return {name: quantity(fmean(found), "count", "measured") for name, found in shown.items()}


def _totals(row: KernelTotals) -> KernelProfile:
    rows: Mapping[str, float | None] = {
        "Kernel Time": row.total_ns / row.calls,
        "Kernel Time, shortest": row.min_ns,
        "Kernel Time, longest": row.max_ns,
        "Total Time": row.total_ns,
    }
    metrics = {name: quantity(value, "ns", "measured") for name, value in rows.items()}
    metrics["Dispatches"] = quantity(row.calls, "count", "measured")
    return KernelProfile(name=row.kernel, dispatches=row.calls, metrics=metrics, bound=None)


def import_files(files: Mapping[str, bytes], *, gpu: str) -> ProfileResult:
    """The profile of a recording whose files are given by relative path. Raises ProfileFileError."""
    with tempfile.TemporaryDirectory(prefix="amdkernel-profile-") as folder:
        for name, data in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                continue  # code in a sandbox must not choose where we write
            place = Path(folder, *path.parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return import_recording(Path(folder), gpu=gpu)

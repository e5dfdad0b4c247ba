"""What bounds a recorded kernel, and why. A finding needs a counter of the load and one of its share of the time.

Conflicts per access, occupancy or low utilisation alone prove nothing: kernels have become slower when their bank
conflicts were removed, and the fastest of several variants ran at 11 % occupancy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.profiling.rules.answer import GUIDE, docs_of, finding
from amdkernel_mcp.results.kernels import Diagnosis, Focus, KernelProfile
from amdkernel_mcp.results.quantity import Metric

SHORT_NS = 20_000
SCATTERED = 20
"""% of `vL1D Coalescing`: perfect accesses of 8 or 16 bytes a lane read as 25, those of 4 bytes as 50 or more."""
_Metrics = Mapping[str, Metric]


@dataclass(frozen=True)
class _Rule:
    """Fires when every witness is within its limits and no figure of `unless` is within its own.

    `bound`: what the kernel is then bound by, None if nothing. A figure of `unless` that is unknown does not stop it.
    """

    finding: str
    witnesses: tuple[tuple[str, Callable[[float], bool]], ...]
    advice: str
    topic: Focus
    section: str
    """Of docs/profiling.md, as its anchor."""
    bound: str | None = None
    unless: tuple[tuple[str, Callable[[float], bool]], ...] = ()


def _at_least(limit: float) -> Callable[[float], bool]:
    return lambda value: value >= limit


def _known(_: float) -> bool:
    return True


def _at_most(limit: float) -> Callable[[float], bool]:
    return lambda value: value <= limit


def _below(limit: float) -> Callable[[float], bool]:
    return lambda value: value < limit


_HBM, _OF_REACHED = "HBM read+write, % of peak", "HBM read+write, % of what benchmarks reach"
_VALU, _WAITS = "VALU Utilization", "Dependency Wait"
_OCCUPANCY = "Wavefront Occupancy, same-pass denominator, % of peak"
_ROOF = 80
"""% of what a copy reaches. What is left of it are the launch's start and end, and turns between reads and writes."""
FIT = "Waves per SIMD that fit"
RULES = (
    _Rule("The kernel is bound by memory bandwidth",
          ((_OF_REACHED, _at_least(_ROOF)),),
          "move fewer bytes: fuse kernels, use a narrower type, keep data that is used twice in LDS or registers",
          "memory", "at-the-memory-roof", "memory", unless=((_VALU, _at_least(70)),)),
    _Rule("The kernel is bound by the matrix cores",
          (("MFMA Utilization", _at_least(70)),),
          "use a narrower type if the tolerance allows; otherwise better scheduling is what is left",
          "instructions", "recordings-of-a-gpu", "matrix_cores", unless=((_OF_REACHED, _at_least(_ROOF)),)),
    _Rule("The kernel is bound by the vector ALU",
          ((_VALU, _at_least(70)),),
          "execute fewer instructions: packed FP32, MFMA for products, cheaper index arithmetic, fewer transcendentals",
          "instructions", "instruction-overhead", "vector_alu", unless=((_OF_REACHED, _at_least(_ROOF)),)),
    _Rule("LDS bank conflicts slow the kernel down",
          (("LDS Bank Conflicts/Access", _at_least(0.5)), ("LDS Utilization", _at_least(50))),
          "pad or swizzle the LDS array so that lanes that access LDS together hit different banks",
          "lds", "lds-accesses", "lds"),
    _Rule("LDS bank conflicts slow the kernel down",
          (("LDS Bank Conflicts", _at_least(20)),),
          "pad or swizzle the LDS array so that lanes that access LDS together hit different banks",
          "lds", "lds-accesses", unless=(("LDS Utilization", _known), (_OF_REACHED, _at_least(_ROOF)))),
    _Rule("Few waves fit, and those that do wait for data",
          ((FIT, _at_most(2)), (_WAITS, _at_least(60))),
          "let more waves reside: fewer registers or less LDS a work group; or keep more loads in flight in each",
          "occupancy", "low-occupancy", "latency",
          unless=((_HBM, _at_least(40)), (_VALU, _at_least(40)), ("MFMA Utilization", _at_least(40)))),
    _Rule("Waves wait for data: the kernel is bound by latency",
          ((_WAITS, _at_least(60)), (_HBM, _below(40)), (_VALU, _below(40))),
          "keep more loads in flight: unroll, prefetch into registers, load wider, or run more waves",
          "occupancy", "exposed-latency", "latency", unless=((FIT, _at_most(2)),)),
    _Rule("No unit is busy and few waves are resident: the kernel is bound by latency",
          ((_OCCUPANCY, _below(25)), (_HBM, _below(40)), (_VALU, _below(40))),
          "let more waves reside: smaller tiles, fewer registers, less LDS, a larger grid; or more loads in flight",
          "occupancy", "low-occupancy", "latency",
          unless=((_WAITS, _known), ("MFMA Utilization", _at_least(40)))),
    _Rule("The memory units are busy, and the memory is not: requests hit caches or are scattered",
          (("Memory Unit Busy", _at_least(70)), (_HBM, _below(40)), (_VALU, _below(40))),
          "issue fewer and wider requests: neighbouring lanes on neighbouring addresses, 16 bytes a lane, values that "
          "are used again in LDS or registers",
          "memory", "narrow-or-uniform-loads", unless=(("vL1D Coalescing", _known),)),
    _Rule("Lanes are inactive while the vector ALU is busy",
          (("VALU Active Threads", _below(48)), ("VALU Utilization", _at_least(30))),
          "make the branch condition uniform over 64 lanes, or share the work of long lanes among the wave",
          "instructions", "inactive-lanes"),
    _Rule("Uncoalesced accesses stall the L1 cache",
          (("vL1D Coalescing", _below(SCATTERED)), ("vL1D Stalled on L2 Data", _at_least(25))),
          "make neighbouring lanes touch neighbouring addresses; where the layout forbids it, transpose through LDS",
          "memory", "uncoalesced-accesses"),
    _Rule("Registers spill to scratch memory",
          (("Scratch", _at_least(1)), ("TA_BUFFER_WAVEFRONTS_sum", _at_least(1))),
          "use fewer registers: smaller tiles, less unrolling, __launch_bounds__",
          "occupancy", "scratch-memory"),
)  # fmt: skip


def too_uncertain(metrics: _Metrics) -> str | None:
    """Why the figures allow no verdict, or None."""
    time_ns = metrics["Kernel Time"].value
    if time_ns is None:
        return "the recording has no duration for it"
    if time_ns < SHORT_NS:
        return f"it takes {time_ns / 1000:.1f} us; below 20 us the start and end of the launch dominate"
    return None


def _fires(rule: _Rule, metrics: _Metrics) -> bool:
    return all(_holds(metrics.get(name), test) for name, test in rule.witnesses) and not any(
        _holds(metrics.get(name), test) for name, test in rule.unless
    )


def _holds(metric: Metric | None, test: Callable[[float], bool]) -> bool:
    """A figure with a note is not a witness."""
    return metric is not None and metric.value is not None and metric.note is None and test(metric.value)


def bound_of(metrics: _Metrics) -> str | None:
    """What bounds the kernel; None where the recording does not show it."""
    if too_uncertain(metrics):
        return None
    return next((rule.bound for rule in RULES if rule.bound and _fires(rule, metrics)), None)


def diagnose_recording(
    kernels: Sequence[KernelProfile], *, focus: Focus | None = None, most: int = 5
) -> list[Diagnosis]:
    """Findings on the kernels that take most time; for a kernel without one, the figures that rule the classes out.

    focus: the topic of the findings; None for all.
    """
    found: list[Diagnosis] = []
    for kernel in kernels[:most]:
        if not any(name in kernel.metrics for name in (_HBM, _VALU)):
            continue
        found += [row for row in _about(kernel) if focus is None or row.topic in (None, focus)]
    return found


def _about(kernel: KernelProfile) -> list[Diagnosis]:
    metrics, name = kernel.metrics, kernel.name[:80]
    if why := too_uncertain(metrics):
        advice = "profile a larger problem, so that one launch takes longer"
        return [finding(f"{name}: no verdict on what bounds it", because=why, advice=advice)]
    fired = [rule for rule in RULES if _fires(rule, metrics)]
    return [
        finding(
            f"{name}: {rule.finding}",
            because=_figures(rule, metrics),
            advice=rule.advice,
            docs=docs_of(rule.section),
        ).model_copy(update={"topic": rule.topic})
        for rule in fired
    ] or [_nothing(name, metrics)]


def _figures(rule: _Rule, metrics: _Metrics) -> str:
    """The witnesses, and the figures next to them that a reader will ask for."""
    shown = dict.fromkeys([*(name for name, _ in rule.witnesses), *_BESIDE.get(rule.bound or "", ())])
    known = {name: metric for name in shown if (metric := metrics.get(name)) and metric.value is not None}
    return "; ".join(f"{name} is {metric.value:.4g} {metric.unit}" for name, metric in known.items())


_BESIDE = {"memory": (_HBM, _VALU, _WAITS), "matrix_cores": (_HBM,), "vector_alu": (_HBM,), "latency": (_OCCUPANCY,)}
"""By what a kernel is bound by: figures that go with the witnesses where they are known."""


_SHOWN = (_HBM, _VALU, "MFMA Utilization", "LDS Bank Conflicts/Access", "LDS Utilization", _WAITS, _OCCUPANCY)


def _nothing(name: str, metrics: _Metrics) -> Diagnosis:
    """The figures that rule out each class, and those that are missing or doubtful."""
    against, missing = [], []
    for witness in (
        _HBM,
        _VALU,
        "MFMA Utilization",
        "LDS Bank Conflicts/Access",
        "LDS Utilization",
        _WAITS,
        _OCCUPANCY,
    ):
        metric = metrics.get(witness)
        if metric is None or metric.value is None:
            missing.append(witness)
        elif metric.note is None:
            against.append(f"{witness} {metric.value:.3g} {metric.unit}")
        else:
            missing.append(f"{witness} ({metric.note})")
    because = (
        f"no unit is near its peak: {', '.join(against)}" if against else "the recording has no unit's utilisation"
    )
    if missing:
        because += f"; unknown: {', '.join(missing)}"
    return finding(
        f"{name}: the recording does not show what bounds it",
        because=because,
        advice="collect the missing counters, with GRBM_GUI_ACTIVE in every pass",
        docs=[f"{GUIDE}recordings-of-a-gpu"],
    )

"""The most important two kilobytes of a profile: few findings, few rounded numbers, no empty keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amdkernel_mcp.profiling.rules.answer import RULED_OUT
from amdkernel_mcp.results.kernels import Comparison, Diagnosis, Focus, HotLine, KernelProfile, ProfileResult, Span
from amdkernel_mcp.results.quantity import Metric

LIMIT_BYTES = 1850
"""With the ref of the whole answer, an id and a place in a queue, two kilobytes."""
MOST_FINDINGS, MOST_LINES, MOST_KERNELS, MOST_FIGURES = 3, 3, 3, 4
_REQUIRED = frozenset({"kernels", "because", "try", "docs", "bound", "metrics", "value"})
_OF_INSTRUCTIONS, MOST_RECORDED = ("PC Samples", "Thread Trace"), 6
LEAST_BOUND = 0.2
"""Of the largest bound; smaller ones are left out."""

LITTLE = 1.1
"""Times as fast: a finding that may bring nothing, and this at most, is only named."""

_SLOTS = "Issue Slots: "
LEAST_SLOTS, MOST_SLOTS = 3.0, 2
"""Percent of the issue slots that are worth a word, and how many kinds of them are among the few numbers."""

_ALWAYS = ("Kernel Time", "SQ_WAVES", "Memory Bytes", "VALU Utilization", "HBM read+write, % of peak")
NUMBERS: Mapping[Focus | None, tuple[str, ...]] = {
    None: ("SQ_INSTS_VALU", "Load Coalescing", "L2 Hit Rate", "VALU Lane Utilization", "VGPRs", "Scratch"),
    "memory": ("Request Amplification", "Load Coalescing", "Store Coalescing", "L1 Hit Rate", "L2 Hit Rate",
               "Infinity Cache Hit Rate", "Bytes per Load"),
    "lds": ("SQ_INSTS_LDS", "LDS Bank Conflicts/Access", "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "lds_bytes",
            "LDS"),
    "occupancy": ("Waves per SIMD Slot", "Occupancy Limit", "VGPRs", "SGPRs", "LDS", "Scratch", "VGPR Spills",
                  "barriers"),
    "instructions": ("SQ_INSTS", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_MFMA", "FLOP", "VALU Lane Utilization",
                     "Instructions per Byte"),
    "launch": ("Waves per SIMD Slot", "Instructions per Wave", "Bytes Requested", "Dispatches"),
}  # fmt: skip
"""What a kernel's answer shows of its metrics, by topic; those that it has."""


def brief(result: ProfileResult) -> ProfileResult:
    """The answer in at most LIMIT_BYTES as JSON without empty keys, unless texts of others make it longer."""
    small = result.model_copy(
        update={
            "hashes": None,
            "code_object": None,
            "kernels": [important(each, result.focus) for each in result.kernels[:MOST_KERNELS]],
            "diagnosis": _most_important(result),
            "comparison": _comparison(result.comparison) if result.comparison else None,
        }
    )
    for shorter in _STEPS:
        if size(small) <= LIMIT_BYTES:
            break
        small = shorter(small)
    return small


def size(result: ProfileResult) -> int:
    """Bytes of the answer as JSON without empty keys."""
    return len(json.dumps(sparse(result.model_dump(mode="json", by_alias=True)), separators=(",", ":")).encode())


def sparse(value: Any) -> Any:
    """JSON without nulls, empty texts, lists and objects, except those that the schema requires."""
    if isinstance(value, dict):
        kept = {key: sparse(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if key in _REQUIRED or each not in (None, "", [], {})}
    return [sparse(each) for each in value] if isinstance(value, list) else value


def in_full(diagnosis: Sequence[Diagnosis]) -> list[Diagnosis]:
    """The findings that deserve more than a line: all but what is ruled out, or hardly changes the time."""
    return [
        row
        for row in diagnosis
        if RULED_OUT not in row.finding and (row.gain is None or row.gain.low > 1 or row.gain.high > LITTLE)
    ]


def _most_important(result: ProfileResult) -> list[Diagnosis]:
    """The first findings; of a profile without any, what is ruled out, without the figures."""
    found = in_full(result.diagnosis)
    found = found or [row for row in result.diagnosis if RULED_OUT not in row.finding]
    if found:
        return [row.model_copy(update={"topic": None}) for row in found[:MOST_FINDINGS]]
    return [row.model_copy(update={"because": ""}) for row in result.diagnosis[:1]]


def important(kernel: KernelProfile, focus: Focus | None) -> KernelProfile:
    """The kernel with the numbers that matter to the topic, rounded, and the lines with most instructions."""
    bounds = {name: each for name, each in kernel.metrics.items() if name.startswith("Bound: ") and each.value}
    largest = max((each.value or 0.0 for each in bounds.values()), default=0.0)
    wanted = [name for name in (*_ALWAYS, *NUMBERS[focus]) if name in kernel.metrics]
    shown = {name: kernel.metrics[name] for name in wanted if kernel.metrics[name].value is not None}
    shown |= {f"{_SLOTS}{name}": kernel.metrics[f"{_SLOTS}{name}"] for name, _ in issue_slots(kernel)[:MOST_SLOTS]}
    shown |= {name: each for name, each in bounds.items() if (each.value or 0) >= LEAST_BOUND * largest}
    recorded = [name for name in kernel.metrics if name.startswith(_OF_INSTRUCTIONS)]
    shown |= {name: kernel.metrics[name] for name in recorded[:MOST_RECORDED]}
    return kernel.model_copy(
        update={
            "modelled_us": _span(kernel.modelled_us),
            "metrics": {name: _rounded(each) for name, each in shown.items()},
            "hot_lines": [_line(each) for each in kernel.hot_lines[:MOST_LINES]],
            "hot_instructions": kernel.hot_instructions[:MOST_LINES],
        }
    )


def issue_slots(kernel: KernelProfile) -> list[tuple[str, float]]:
    """What the issue slots of the simulated unit went to, in percent, the most first; empty: not simulated."""
    shares = {name.removeprefix(_SLOTS): each.value for name, each in kernel.metrics.items() if name.startswith(_SLOTS)}
    return sorted(((name, share) for name, share in shares.items() if share), key=lambda each: -each[1])


def _rounded(metric: Metric) -> Metric:
    return metric.model_copy(update={"value": digits(metric.value)})


def _span(span: Span | None) -> Span | None:
    return span and Span(low=digits(span.low) or 0.0, high=digits(span.high) or 0.0)


def digits(value: float | None) -> float | None:
    """Three digits; whole numbers as they are."""
    return value if value is None or float(value).is_integer() else float(f"{value:.3g}")


def _line(line: HotLine) -> HotLine:
    return HotLine(
        line=line.line,
        file=line.file,
        source=line.source.strip()[:60],
        share=round(line.share, 3),
        evidence=line.evidence,
    )


def _comparison(found: Comparison) -> Comparison:
    figures = [
        each.model_copy(update={"before": digits(each.before), "after": digits(each.after)})
        for each in found.figures[:MOST_FIGURES]
    ]
    times = [
        each.model_copy(update={"before": _span(each.before), "after": _span(each.after)})
        for each in found.times[: 1 + MOST_KERNELS]
    ]
    return found.model_copy(update={"figures": figures, "times": times})


def _shorter(number: int, characters: int) -> Callable[[ProfileResult], ProfileResult]:
    """A step that cuts the findings from this number on: the section that `docs` names has the rest."""

    def step(result: ProfileResult) -> ProfileResult:
        rows = [
            row.model_copy(update={"refuted_by": "", "try_": _short(row.try_, characters)}) if at >= number else row
            for at, row in enumerate(result.diagnosis, 1)
        ]
        return result.model_copy(update={"diagnosis": rows})

    return step


def _fewer(*, metrics: int, lines: int, kernels: int) -> Callable[[ProfileResult], ProfileResult]:
    def step(result: ProfileResult) -> ProfileResult:
        kept = [
            each.model_copy(
                update={
                    "metrics": dict(list(each.metrics.items())[-metrics:]),
                    "hot_lines": each.hot_lines[:lines],
                    "hot_instructions": each.hot_instructions[:lines],
                }
            )
            for each in result.kernels[:kernels]
        ]
        found = result.comparison
        if found and kernels < MOST_KERNELS:
            found = found.model_copy(update={"times": found.times[: 1 + kernels]})
        return result.model_copy(update={"kernels": kept, "comparison": found})

    return step


def _cut(number: int, characters: int) -> Callable[[ProfileResult], ProfileResult]:
    """A step that cuts the figures of the findings from this number on, and of those that a change removed."""

    def step(result: ProfileResult) -> ProfileResult:
        rows = [
            row.model_copy(update={"because": _short(row.because, characters)}) if at >= number else row
            for at, row in enumerate(result.diagnosis, 1)
        ]
        found = result.comparison
        if found:
            gone = [each.model_copy(update={"because": _short(each.because, characters)}) for each in found.gone[:3]]
            found = found.model_copy(update={"gone": gone, "new": found.new[:3], "stayed": found.stayed[:3]})
        return result.model_copy(update={"diagnosis": rows, "comparison": found})

    return step


def _short(text: str, characters: int) -> str:
    """Cut behind a word."""
    return text if len(text) <= characters else f"{text[: characters - 1].rpartition(' ')[0]} …"


def _third_by_name(result: ProfileResult) -> ProfileResult:
    """Two findings that can be read say more than three that are cut; the section that `docs` names has the rest."""
    first, third = result.diagnosis[:2], result.diagnosis[2:]
    named = [row.model_copy(update={"because": _short(row.because, 60), "try_": "see docs"}) for row in third]
    return result.model_copy(update={"diagnosis": [*first, *named]})


def _fewest_figures(result: ProfileResult) -> ProfileResult:
    """Times and names say whether a change helped; the whole answer has the figures."""
    if result.comparison is None:
        return result
    gone = [each.model_copy(update={"because": ""}) for each in result.comparison.gone]
    fewer = {"gone": gone, "figures": result.comparison.figures[:1]}
    return result.model_copy(update={"comparison": result.comparison.model_copy(update=fewer)})


def _cures_alone(result: ProfileResult) -> ProfileResult:
    """Of the refs of a finding the first: the guide that cures it, where there is one."""
    rows = [row.model_copy(update={"docs": row.docs[:1]}) for row in result.diagnosis]
    return result.model_copy(update={"diagnosis": rows})


_STEPS = (
    _cures_alone,
    _fewer(metrics=10, lines=2, kernels=2),
    _shorter(3, 100),
    _cut(2, 160),
    _fewer(metrics=8, lines=2, kernels=1),
    _shorter(2, 100),
    _fewer(metrics=6, lines=1, kernels=1),
    _cut(2, 100),
    _third_by_name,
    _shorter(2, 60),
    _cut(1, 160),
    _fewer(metrics=4, lines=1, kernels=1),
    _cut(1, 80),
    _fewest_figures,
)

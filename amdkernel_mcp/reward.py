"""From the record of an attempt to a number for reinforcement learning. Pure; docs/reward.md has the formula.

A record is what `Attempt` dumps as JSON. Whether it is signed is for the caller to verify. Whatever a record lacks, or
has in an unexpected form, brings nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from statistics import fmean
from typing import Any

from amdkernel_mcp.errors import InputError

Record = Mapping[str, Any]

CORRECT = 0.3
CAP = 10.0
_JUDGED = frozenset({"faster", "slower", "inconclusive"})
_SHARES = ("VALU Lane Utilization", "Load Coalescing", "Store Coalescing")
_INVERSE = "Request Amplification"


@dataclass(frozen=True)
class RewardOptions:
    """How records are valued.

    correct: what a correct kernel brings alone. cap: the speed-up that brings 1. modelled: modelled times count too.
    shaping: the share of `correct` that must be earned by the profile. baseline: the sha256 of the kernel file that a
    speed-up must be over. problem: the hash of the problem that a record must be about.
    """

    correct: float = CORRECT
    cap: float = CAP
    modelled: bool = False
    shaping: float = 0.0
    baseline: str | None = None
    problem: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.correct <= 1:
            raise InputError("the reward of a correct kernel is above 0 and at most 1")
        if not 1 < self.cap <= 1000:
            raise InputError("the cap of the speed-up is above 1 and at most 1000")
        if not 0 <= self.shaping <= 1:
            raise InputError("the share of shaping is 0 to 1")


@dataclass(frozen=True)
class Reward:
    """A number of 0 to 1 and the reason for it."""

    value: float
    because: str


DEFAULT = RewardOptions()


def rewards(records: Sequence[Record], options: RewardOptions = DEFAULT) -> list[Reward]:
    """One reward for each record. Profiles among them shape those of the same kernel file and problem."""
    profiles = {_subject(record): record for record in records if record.get("verb") == "profile"}
    return [reward(record, options, profile=profiles.get(_subject(record))) for record in records]


def reward(record: Record, options: RewardOptions = DEFAULT, *, profile: Record | None = None) -> Reward:
    """The reward of one record; `profile`: the record of a profile of the same kernel, for shaping."""
    if why := _not_correct(record, options):
        return Reward(0.0, why)
    value, because = options.correct, "correct"
    if options.shaping:
        shape = _shape(profile, options) if profile and _subject(profile) == _subject(record) else 0.0
        value *= 1 - options.shaping + options.shaping * shape
        because += f", profile {shape:.2f}"
    speedup, why = _speedup(record, options)
    if speedup is None:
        return Reward(value, f"{because}; {why}" if why else because)
    span = _mapping(_mapping(record.get("answer")).get("speedup"))
    middle, high = _number(span.get("value")), _number(span.get("high"))
    known = f"{speedup:.3g} to {high:.3g} times as fast ({middle:.3g})" if middle and high else None
    said = f"{known}, of which the low end counts" if known else f"at least {speedup:.3g} times as fast"
    share = min(1.0, log(speedup) / log(options.cap))
    return Reward(value + (1 - options.correct) * share, f"{because}; {said}")


def _not_correct(record: Record, options: RewardOptions) -> str | None:
    """Why the record brings nothing."""
    verb, verdict, answer = record.get("verb"), str(record.get("verdict")), _mapping(record.get("answer"))
    if verb == "tune_row":
        return "the row of a sweep is checked on the largest case only; the sweep or a benchmark of its line counts"
    if verb not in ("check", "benchmark", "tune"):
        return f"a record of `{verb}` proves no kernel correct"
    correct = verdict == "correct" if verb == "check" else verdict in _JUDGED
    if not correct or (verb == "tune" and not answer.get("best")):
        return verdict or "no verdict"
    if _mapping(answer.get("seeds")).get("replayed") or _mapping(record.get("options")).get("seeds"):
        return "the inputs were known before"
    if options.problem and _mapping(answer.get("hashes")).get("problem") != options.problem:
        return "another problem"
    return None


def _speedup(record: Record, options: RewardOptions) -> tuple[float | None, str]:
    """The lower end of the interval where it counts; else why it does not."""
    answer, baseline = _mapping(record.get("answer")), record.get("baseline")
    if record.get("verb") != "benchmark":
        return None, ""
    if record.get("verdict") != "faster":
        return None, f"{record.get('verdict')}"
    flags = answer.get("flags", [])
    if not isinstance(flags, list) or "suspicious" in flags:
        return None, "suspicious"
    if baseline is None or baseline == record.get("source"):
        return None, "no other kernel to compare with"
    if options.baseline and baseline != options.baseline:
        return None, "compared with another baseline"
    evidence = _mapping(answer.get("time_us")).get("evidence")
    if evidence != "measured" and not (evidence == "modelled" and options.modelled):
        return None, f"the time is {evidence or 'not_measured'}"
    low = _number(_mapping(answer.get("speedup")).get("low"))
    return (low, "") if low is not None and low > 1 else (None, "no speed-up")


def _shape(profile: Record, options: RewardOptions) -> float:
    """How well the kernel uses lanes and memory requests, 0 to 1: the mean over its kernels and their metrics."""
    answer = _mapping(profile.get("answer"))
    if profile.get("verb") != "profile" or answer.get("findings"):
        return 0.0
    found = [_kernel_shape(_mapping(_mapping(each).get("metrics")), options) for each in answer.get("kernels") or ()]
    known = [each for each in found if each is not None]
    return fmean(known) if known and len(known) == len(found) else 0.0


def _kernel_shape(metrics: Record, options: RewardOptions) -> float | None:
    """None where the profile has none of the metrics."""
    believed = {"emulated", "measured", "static"} | ({"modelled"} if options.modelled else set())
    parts = []
    for name in (*_SHARES, _INVERSE):
        metric = _mapping(metrics.get(name))
        value = _number(metric.get("value"))
        if value is None or metric.get("evidence") not in believed:
            continue
        part = value / 100 if name in _SHARES else 1 / value if value > 0 else 0.0
        parts.append(min(1.0, max(0.0, part)))
    return fmean(parts) if parts else None


def _subject(record: Record) -> tuple[str, str, str]:
    """The kernel file, the problem and the target."""
    files = _mapping(_mapping(record.get("problem")).get("files"))
    return str(record.get("source")), str(sorted(files.items())), str(record.get("target"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        return None
    return float(value)

"""The card of a hardware counter or metric: what it counts, where it exists, and what is computed from it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.results.documentation import Card

if TYPE_CHECKING:
    from amdkernel_mcp.profiling.metrics.metric import Definition
    from amdkernel_mcp.results.quantity import Evidence

_OVER_INSTANCES = {
    "_sum": "summed over all instances",
    "_avr": "mean of all instances",
    "_max": "largest of all instances",
}
_TYPED = re.compile(
    r"^SQ_INSTS_VALU_(?:(ADD|MUL|FMA|TRANS)_(F16|F32|F64)|MFMA_(MOPS_)?(F16|BF16|F32|F64|I8|F8|F6F4|XF32))$"
)
_KINDS = {
    "ADD": "additions and subtractions",
    "MUL": "multiplications",
    "FMA": "fused multiply-adds",
    "TRANS": "square roots, reciprocals, sines, exponentials and the like",
}
MOST_METRICS = 6


@dataclass(frozen=True)
class Counter:
    """A row of docs_index/counters.toml."""

    name: str
    block: str
    unit: str
    archs: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class Documented:
    """What an indexed table of counters says of one."""

    text: str
    source: str
    version: str | None
    url: str | None


@cache
def _table() -> tuple[dict[str, Counter], dict[str, str]]:
    table = tomllib.loads((folder("docs_index") / "counters.toml").read_text(encoding="utf-8"))
    groups = table["archs"]
    rows = [
        Counter(name, block, unit, tuple(groups.get(archs) or archs.split()), meaning)
        for name, block, unit, archs, meaning in table["counters"]["rows"]
    ]
    return {row.name: row for row in rows}, table["blocks"]


# The metrics are imported where they are asked for: most searches name no counter.
@cache
def _recorded() -> dict[str, Definition]:
    """The metrics of imported recordings, by name; where architectures differ, that of the newest."""
    from amdkernel_mcp.profiling.metrics.recorded import ARCHITECTURES, definitions

    return {one.name: one for gfx in reversed(ARCHITECTURES) for one in definitions(gfx)}


@cache
def _emulated() -> dict[str, tuple[str, Evidence, str]]:
    """The emulator's counters; of those that it has as a sum only, by the counter's own name."""
    from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS

    return {name.removesuffix("_sum"): row for name, row in COUNTERS.items()}


@cache
def _derived() -> dict[str, Definition]:
    """The metrics of emulated profiles, by name."""
    from amdkernel_mcp.profiling.metrics.emulated import DERIVED

    return {one.name: one for one in DERIVED}


@cache
def _by_folded_name() -> dict[str, str]:
    # LDSBankConflict and LdsBankConflict are two metrics, so the exact spelling is asked for first.
    return {name.lower(): name for name in (*_recorded(), *_derived(), *_emulated(), *_table()[0])}


def counter_names() -> tuple[str, ...]:
    """The counters and metrics that have a card without any index."""
    return tuple(_by_folded_name().values())


def counter_name(word: str) -> str | None:
    """The counter or metric that `word` names; case does not matter, `_sum` and its like may follow."""
    for name in (word, *_without_suffix(word)):
        if name in _table()[0] or name in _emulated():
            return name
        if name.lower() in _by_folded_name():
            return _by_folded_name()[name.lower()]
        if _TYPED.match(name.upper()):
            return name.upper()
    return None


def _without_suffix(word: str) -> tuple[str, ...]:
    return tuple(word[: -len(suffix)] for suffix in _OVER_INSTANCES if word.lower().endswith(suffix))


def counter_card(word: str, documented: Documented | None = None) -> Card | None:
    """The card of a counter; None for a name that neither our tables nor the index know."""
    name = counter_name(word)
    if name is None and documented is None:
        return None
    shown = name or word
    known = _table()[0].get(shown) or _typed(shown)
    lines = []
    if known:
        block = _table()[1].get(known.block, "")
        lines = [f"{_sentence(known.meaning)}.", "", f"- unit: {known.unit}", f"- block: {known.block} ({block})"]
        lines.append(f"- architectures: {', '.join(known.archs)}")
    suffix = next((what for end, what in _OVER_INSTANCES.items() if name and word.lower() == name.lower() + end), None)
    if suffix:
        lines.append(f"- `{word}`: the same, {suffix}")
    lines += _in_the_emulator(shown)
    lines += _of_our_metrics(shown)
    if documented:
        lines += [
            "",
            f"The documentation ({documented.source} {documented.version or ''}):".replace(" )", ")"),
            documented.text,
        ]
    return Card(
        ref=f"counter:{shown}",
        kind="counter",
        name=shown,
        title=f"{shown}: {known.meaning.partition('. ')[0] if known else _title(shown)}",
        text="\n".join(lines).strip(),
        origin="docs_index/counters.toml and the tables of docs/metrics.md"
        + (", with the indexed documentation" if documented else ""),
        version=documented.version if documented else None,
        url=documented.url if documented else None,
    )


def _title(name: str) -> str:
    if name in _emulated():
        return _emulated()[name][2]
    return "a metric" if name in _recorded() else "a counter"


def _typed(name: str) -> Counter | None:
    """The counters of one operation and type, which are alike."""
    found = _TYPED.match(name)
    if found is None:
        return None
    operation, width, work, kind = found.groups()
    cdna = ("gfx90a", "gfx942", "gfx950")
    archs = {"F8": cdna[1:], "F6F4": cdna[2:], "XF32": cdna[2:]}.get(kind or "", cdna)
    if operation:
        return Counter(
            name, "SQ", "instructions", cdna, f"vector {_KINDS[operation]} in {width.lower()}, wave instructions"
        )
    if work:
        return Counter(
            name, "SQ", "512 operations", archs, f"operations of matrix instructions on {kind}, divided by 512"
        )
    return Counter(name, "SQ", "instructions", archs, f"matrix instructions on {kind}")


def _sentence(text: str) -> str:
    return text if "(" in text.split()[0] else text[:1].upper() + text[1:]


def _in_the_emulator(name: str) -> Iterator[str]:
    if name in _emulated():
        unit, evidence, meaning = _emulated()[name]
        yield f"- in profile_kernel on the emulator ({evidence}): {meaning}, in {unit}"


def _of_our_metrics(name: str) -> Iterator[str]:
    """The metric's own formula, or the metrics in whose formulas the counter stands."""
    own = _derived() | _recorded()
    if name in own:
        one = own[name]
        yield f"- {one.name} [{one.unit}] = `{one.text}` ({one.source})"
        if one.meaning:
            yield f"- {one.meaning}"
        return
    word = re.compile(rf"\b{re.escape(name)}(?:_sum|_ACCUM)?\b")
    used = [
        one
        for one in own.values()
        if word.search(one.text.replace("TCC_EA_", "TCC_EA0_") if "EA0" in name else one.text)
    ]
    for one in used[:MOST_METRICS]:
        short = one.text if len(one.text) < 140 else "a formula in docs/metrics.md"
        yield f"- used by {one.name} [{one.unit}] = `{short}`"

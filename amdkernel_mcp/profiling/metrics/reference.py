"""The tables of docs/metrics.md: `python -m amdkernel_mcp.profiling.metrics.reference docs/metrics.md`.

The prose is written by hand; the text between `<!-- NAME -->` and `<!-- end NAME -->` is replaced.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from amdkernel_mcp.hardware.specs import all_gpus
from amdkernel_mcp.measurement import credibility, measured, modelled, paired
from amdkernel_mcp.measurement.roofline import WHAT_IT_IS
from amdkernel_mcp.profiling.metrics.counter_names import other_names
from amdkernel_mcp.profiling.metrics.emulated import DERIVED
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS
from amdkernel_mcp.profiling.metrics.evaluation import DILUTED
from amdkernel_mcp.profiling.metrics.metric import Definition
from amdkernel_mcp.profiling.metrics.recorded import ARCHITECTURES, CDNA, definitions

_BLOCK = re.compile(r"<!-- (?P<name>[\w-]+) -->\n.*?<!-- end (?P=name) -->", re.DOTALL)


def filled(page: str) -> str:
    """The page with all its tables as they are now. Raises KeyError for an unknown table."""
    return _BLOCK.sub(lambda block: _fill(block["name"]), page)


def _fill(name: str) -> str:
    return "\n".join([f"<!-- {name} -->", *TABLES[name](), f"<!-- end {name} -->"])


def _raw() -> list[str]:
    rows = [(f"`{name}`", unit, meaning, _elsewhere(name), how) for name, (unit, how, meaning) in COUNTERS.items()]
    return _table(("counter", "unit", "what is counted", "other names", "evidence"), rows)


def _elsewhere(name: str) -> str:
    """`gfx1100, gfx1201: lds_loads; gfx942: left out`."""
    named = [(", ".join(archs), f"`{shown}`" if shown else "left out") for shown, archs in other_names(name).items()]
    return "; ".join(f"{archs}: {shown}" for archs, shown in named)


def _bounds() -> list[str]:
    return _table(("bound", "formula"), [(f"`{name}`", text) for name, text in WHAT_IT_IS.items()])


def _limits() -> list[str]:
    rows = [
        ("modelled difference that counts, same bound", f"{paired.SAME_BOUND:.0%}"),
        ("modelled difference that counts, different bounds", f"{paired.OTHER_BOUND:.0%}"),
        ("modelled difference that counts, waits bind both", f"{paired.OWN_WAITS:.0%}"),
        ("measured difference that counts", f"max({measured.LEAST_DIFFERENCE:.1%}, noise floor)"),
        ("`few_samples` below, and then `inconclusive`", str(measured.FEW_SAMPLES)),
        ("`shorter_than_20_us`: median below", f"{measured.SHORT_US:g} us"),
        ("`shorter_than_a_launch`: bounds of a launch below", f"{modelled.HIDDEN_US:g} us"),
        ("`over_10x`, and `suspicious` without a proof, above a speed-up of", f"{credibility.SUSPICIOUS_SPEEDUP:g}"),
        ("`invalid` without a proof above a speed-up of", f"{credibility.IMPOSSIBLE_SPEEDUP:g}"),
        ("recorded percentages of GUI are lower bounds from a dilution of", f"{DILUTED:g}"),
    ]
    return _table(("limit", "value"), rows)


def _common() -> list[str]:
    return _definitions([d for d in definitions("gfx942") if (d.name, d.text) in _everywhere()])


def _only(gfx: str) -> Callable[[], list[str]]:
    common = _everywhere() if gfx in CDNA else set()
    return lambda: _definitions([d for d in definitions(gfx) if (d.name, d.text) not in common])


def _everywhere() -> set[tuple[str, str]]:
    return set.intersection(*({(d.name, d.text) for d in definitions(gfx)} for gfx in CDNA))


def _gpus() -> list[str]:
    rows = [
        (gpu.name, gpu.gfx, str(gpu.cus), f"{gpu.clock_mhz:g}", f"{gpu.memory_gbps:g}", gpu.confidence, gpu.source)
        for gpu in all_gpus()
    ]
    return _table(("GPU", "gfx", "CUs", "MHz", "GB/s", "confidence", "source"), rows)


def _definitions(found: Sequence[Definition]) -> list[str]:
    rows = [(d.name, d.unit, _formula(d), d.evidence, "; ".join(filter(None, (d.source, d.meaning)))) for d in found]
    return _table(("metric", "unit", "formula", "evidence", "source; meaning"), rows)


def _formula(one: Definition) -> str:
    return ", else ".join(f"`{text}`" for text in (one.text, one.fallback) if text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


TABLES: dict[str, Callable[[], list[str]]] = {
    "emulator-counters": _raw,
    "emulator-metrics": lambda: _definitions(DERIVED),
    "bounds": _bounds,
    "limits": _limits,
    "recorded-everywhere": _common,
    **{f"recorded-{gfx}": _only(gfx) for gfx in ARCHITECTURES},
    "gpus": _gpus,
}

if __name__ == "__main__":
    import sys
    from pathlib import Path

    for name in sys.argv[1:]:
        Path(name).write_text(filled(Path(name).read_text(encoding="utf-8")), encoding="utf-8")

"""The emulator's counters next to those of an MI300X, for kernels whose sources are public: `make bench`.

`--write` also writes docs/recorded_counters.md.
"""

import sys
import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.targets import find_target
from benchmarks.recorded_kernels import NEAR, WHY, Compared, compare

PAGE = Path(__file__).parents[1] / "docs/recorded_counters.md"
_HEAD = """# Our counters and those of an MI300X

Written by `python benchmarks/recordings.py --write`; do not edit.

The kernels of `benchmarks/recorded/kernels.hip` ran on `emulator:gfx942`. What an MI300X counted for kernels that do
the same is in `benchmarks/recorded/counters.csv`: recordings of rocprof-compute 3 with ROCm 6.4.1, one launch each, of
the micro-benchmarks `coalescing` and `atomics` in AMDResearch/intellikit (`metrix/resources/ubench` at commit
1661f6987339ad260ad1f2b8e2a2d7557556f2a2, MIT). Each counter that both have is compared; a test repeats it. Copies of
1,048,576 doubles are compared in [metrics](metrics.md).
"""


def main() -> None:
    """Print what is equal, near and off; with `--write`, write the page."""
    settings = load_settings()
    sandbox, target = open_sandbox(settings), find_target("emulator:gfx942", settings)
    try:
        with tempfile.TemporaryDirectory() as cache:
            found = compare(sandbox, target, Path(cache))
    finally:
        sandbox.close()
    for kernel, rows in by_kernel(found):
        print(f"{kernel:16} {summary(rows)}")
        for row in rows:
            if not row.near:
                print(f"  {row.counter:30} {row.recorded:>11,.0f} recorded {row.ours:>11,.0f} ours  {_named(row)}")
    print(f"all counters: {summary(found)}")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(found))


def by_kernel(found: Sequence[Compared]) -> list[tuple[str, list[Compared]]]:
    """The rows of each kernel."""
    return [(kernel, list(rows)) for kernel, rows in groupby(found, key=lambda row: row.kernel)]


def summary(rows: Sequence[Compared]) -> str:
    """How many are equal, near and off."""
    equal, near = sum(not row.off for row in rows), sum(row.near for row in rows)
    off = len(rows) - near
    return f"{equal} of {len(rows)} equal, {near - equal} more within {NEAR:.0%}, {off} off"


def _named(row: Compared) -> str:
    return ", ".join(row.reasons) or "unknown"


def page(found: Sequence[Compared]) -> str:
    """docs/recorded_counters.md."""
    parts = [_HEAD, "| kernel | counters |", "| --- | --- |"]
    parts += [f"| `{kernel}` | {summary(rows)} |" for kernel, rows in by_kernel(found)]
    parts += [f"| all | {summary(found)} |", "", f"## Off by more than {NEAR:.0%}", ""]
    parts += ["| kernel | counter | recorded | ours | why |", "| --- | --- | ---: | ---: | --- |"]
    parts += [
        f"| `{row.kernel}` | {row.counter} | {row.recorded:,.0f} | {row.ours:,.0f} | {_named(row)} |"
        for row in found
        if not row.near
    ]
    parts += ["", *(f"* **{name}**: {why}" for name, why in WHY.items())]
    parts += ["", f"## Within {NEAR:.0%}, and not equal", ""]
    near = [row for row in found if row.near and row.off]
    parts += ["| kernel | counter | recorded | ours |", "| --- | --- | ---: | ---: |"]
    parts += [f"| `{row.kernel}` | {row.counter} | {row.recorded:,.0f} | {row.ours:,.0f} |" for row in near]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()

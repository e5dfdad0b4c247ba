"""The emulator's tests of instructions and whole kernels, run on a GPU: each difference is a mistake of one of the two.

They are in a checkout alone, need its sandbox as well (cases of other architectures stay on the emulator), and take
their target from one variable: tests/sandbox/emulator/waves.py. Never run on a GPU so far.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from amdkernel_mcp.bringup.probe import Finding
from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.targets import find_target

if TYPE_CHECKING:
    from amdkernel_mcp.bringup.machine import Machine

TESTED_ON = "TESTED_ON_TARGET"
TIMEOUT_S = 3600.0
MOST_NAMED = 20
_BOTH = ("kernels", "mode", "buffers")
FILES = {
    "gfx9": ("sop", "valu_int", "valu_f32", "valu_f64_f16", "vopc", "lane_exchange", "lds", "loads_and_stores",
             "atomics", "division_and_dots", "mfma", "narrow_floats", *_BOTH),
    "gfx1": ("rdna_lines", "rdna_rows", "rdna_shared_lines", "wmma", *_BOTH),
}  # fmt: skip
"""The files whose cases are about registers and memory, by the beginning of the architecture's name."""


def instructions(machine: Machine) -> Finding:
    """All of them on the target. Raises UnknownTargetError, SandboxError."""
    place = folder("sandbox").parent / "tests/sandbox/emulator"
    if not place.is_dir():
        return Finding("unknown", "the tests are in a checkout alone", "`make dev` and `make setup` in a checkout")
    arch = find_target(machine.target, machine.settings).arch
    names = next((files for family, files in FILES.items() if arch.startswith(family)), ())
    return compared(machine, [place / f"test_{name}.py" for name in names])


def compared(machine: Machine, files: Sequence[Path]) -> Finding:
    """The finding of some files of tests; what they print is kept. Raises SandboxError where they did not run."""
    with tempfile.TemporaryDirectory(prefix="amdkernel-instructions-") as kept:
        report = Path(kept, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"--junitxml={report}"]
        try:
            done = subprocess.run(
                [*command, *map(str, files)], env=os.environ | {TESTED_ON: machine.target},
                cwd=folder("sandbox").parent, capture_output=True, timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise SandboxError(f"the tests of instructions did not end within {TIMEOUT_S:g} s") from None
        machine.said["instructions.txt"] = done.stdout
        if not report.exists():
            said = (done.stderr or done.stdout)[-300:].decode(errors="replace").strip()
            raise SandboxError(f"the tests of instructions did not run: {said}", hint="`make dev` in the checkout")
        cases = ElementTree.parse(report).getroot().iter("testcase")
    different, same = [], 0
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            different.append(str(case.get("name")))
        elif case.find("skipped") is None:
            same += 1
    found = f"{same} tests have the emulator's results"
    if not different:
        return Finding("pass" if same else "unknown", found)
    named = ", ".join(different[:MOST_NAMED]) + (" and more" if len(different) > MOST_NAMED else "")
    return Finding("fail", f"{found}, {len(different)} differ: {named}", "send the archive, which has each")

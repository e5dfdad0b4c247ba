"""Builds one HIP program with hipcc in the sandbox, and runs each of its scenarios on the emulator."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

SCENARIOS = {
    "device": "",
    "memory": "",
    "launch": "",
    "symbols": "",
    "refusals": "",
    "fault": "",
    "hang": "",
    "module": "triple.co triple-gfx90a.co",
    "module-bundle": "triple.bundle triple-gfx90a.co",
    "module-compressed": "triple.compressed triple-gfx90a.co",
}

BUILD = """
device="hipcc -O1 --offload-device-only"
hipcc -O1 --offload-arch=gfx942 -Wno-unused-command-line-argument behaviour.hip -o behaviour 2>&1 || exit 1
$device --offload-arch=gfx942 --no-gpu-bundle-output triple.hip -o triple.co 2>/dev/null
$device --offload-arch=gfx90a --no-gpu-bundle-output triple.hip -o triple-gfx90a.co 2>/dev/null
$device --offload-arch=gfx90a --offload-arch=gfx942 triple.hip -o triple.bundle 2>/dev/null
$device --offload-arch=gfx90a --offload-arch=gfx942 --offload-compress triple.hip -o triple.compressed 2>/dev/null
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=step_limit=2000000,arena_mb=1024
"""
RUN = "timeout 60 ./behaviour {scenario} {arguments} >$OUT/{name}.txt 2>$OUT/{name}.stderr\n"

Seen = dict[str, dict[str, str]]


@pytest.fixture(scope="session")
def raw_output(sandbox: Sandbox) -> dict[str, str]:
    """What each scenario printed, by file: NAME.txt and NAME.stderr."""
    folder = Path(__file__).parent
    files = {name: (folder / name).read_bytes() for name in ("behaviour.hip", "triple.hip")}
    script = BUILD + "".join(
        RUN.format(scenario=name.split("-")[0], name=name, arguments=given) for name, given in SCENARIOS.items()
    )
    done = sandbox.run("compile", ["sh", "-c", script], files, timeout_s=90)
    assert done.exit_code == 0, done.stderr
    return {name: content.decode() for name, content in done.files.items()}


@pytest.fixture(scope="session")
def seen(raw_output: dict[str, str]) -> Seen:
    """The values that each scenario showed, by name."""
    shown: Seen = {}
    for scenario in SCENARIOS:
        lines = raw_output[f"{scenario}.txt"].splitlines()
        shown[scenario] = dict(line.split("=", 1) for line in lines)
        assert "end" in shown[scenario], f"{scenario} did not come to its end: {raw_output[f'{scenario}.stderr']}"
    return shown

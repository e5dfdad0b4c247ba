"""Builds one HIP program with hipcc in the sandbox, and runs each of its scenarios on the emulator."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

SCENARIOS = {
    "device": "",
    "memory": "",
    "launch": "",
    "symbols": "",
    "rejected": "",
    "fault": "",
    "hang": "",
    "flood": "",
    "module": "triple-gfx942.co triple-gfx90a.co",
    "module-bundle": "triple.bundle triple-gfx90a.co",
    "module-compressed": "triple.compressed triple-gfx90a.co",
}

BUILD = """
set -e
export PATH=$PATH:$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1):/opt/rocm/llvm/bin
for arch in gfx942 gfx90a; do
    hipcc -O1 --offload-arch=$arch --offload-device-only --no-gpu-bundle-output -Wno-unused-command-line-argument \\
        triple.hip -o $OUT/triple-$arch.co
done
for form in bundle compressed; do
    [ $form = bundle ] || compress=-compress
    clang-offload-bundler -type=o $compress -bundle-align=4096 -output=$OUT/triple.$form \\
        -targets=host-x86_64-unknown-linux--,hipv4-amdgcn-amd-amdhsa--gfx90a,hipv4-amdgcn-amd-amdhsa--gfx942 \\
        -input=/dev/null -input=$OUT/triple-gfx90a.co -input=$OUT/triple-gfx942.co
done
hipcc -O1 --offload-arch=gfx942 -Wno-unused-command-line-argument behaviour.hip -o $OUT/behaviour
"""
PREPARE = """
chmod +x behaviour
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=step_limit=2000000,arena_mb=1024
"""
RUN = "timeout 60 ./behaviour {scenario} {arguments} >$OUT/{name}.txt 2>$OUT/{name}.stderr\n"

Seen = dict[str, dict[str, str]]


@pytest.fixture(scope="session")
def built(sandbox: Sandbox) -> dict[str, bytes]:
    """The program `behaviour`, and triple.hip as code objects of two architectures and as two kinds of bundle."""
    folder = Path(__file__).parent
    files = {name: (folder / name).read_bytes() for name in ("behaviour.hip", "triple.hip")}
    done = sandbox.run("compile", ["sh", "-c", BUILD], files, timeout_s=400)
    assert done.exit_code == 0, done.stderr
    return dict(done.files)


@pytest.fixture(scope="session")
def raw_output(sandbox: Sandbox, built: dict[str, bytes]) -> dict[str, str]:
    """What each scenario printed, by file: NAME.txt and NAME.stderr."""
    script = PREPARE + "".join(
        RUN.format(scenario=name.split("-")[0], name=name, arguments=given) for name, given in SCENARIOS.items()
    )
    done = sandbox.run("run", ["sh", "-c", script], built, timeout_s=400)
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

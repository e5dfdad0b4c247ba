"""The code objects of a library that Debian built: none is damaged, and nothing about its kernels is unknown.

They come by apt, and nothing of them is kept. Where apt has no such package, there is nothing to look at.
"""

import subprocess
from pathlib import Path

import pytest

from amdkernel_mcp.engine.inspect_file import inspect_file
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.occupancy import SIMDS
from amdkernel_mcp.results.inspection import InspectResult
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]
PACKAGE = "librocrand1"
"""8 MB: objects of seven targets with hundreds of kernels."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("debian")
    try:
        got = subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no apt-get")
    packages = list(folder.glob("*.deb"))
    if not packages:
        pytest.skip(f"apt has no {PACKAGE}: {got.stderr.strip()[-200:]}")
    subprocess.run(["dpkg-deb", "-x", str(packages[0]), str(folder / "files")], check=True)
    return max(folder.glob("files/usr/lib/*/lib*.so.*.*"), key=lambda file: file.stat().st_size)


@pytest.fixture(scope="module")
def inspected(sandbox: Sandbox, library: Path) -> InspectResult:
    return inspect_file(sandbox, library, work=Work())


def test_every_object_is_whole_and_loadable(inspected: InspectResult) -> None:
    assert len(inspected.objects) >= 2
    assert {found.damaged for found in inspected.objects} == {None}
    assert not [note for found in inspected.objects for note in found.notes if "does not load" in note]
    assert {found.arch for found in inspected.objects} & set(SIMDS)


def test_every_kernel_has_its_resources_and_of_an_emulated_target_its_instructions(inspected: InspectResult) -> None:
    kernels = [(found.arch, kernel) for found in inspected.objects for kernel in found.kernels]
    assert len(kernels) > 100
    for arch, kernel in kernels:
        assert None not in (kernel.vgpr, kernel.sgpr, kernel.lds_bytes, kernel.kernarg_bytes), kernel.name
        if arch in SIMDS:
            assert kernel.occupancy_waves_per_simd, kernel.name
            assert kernel.instructions, kernel.name
            assert kernel.not_emulated == [], kernel.name

"""The GPU host in a box, with a ROCm image in its Docker daemon."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_host_box import GpuHost, start_gpu_host
from rocm_image import ROCM, give_rocm_image

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.sandbox import Sandbox

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def bare_gpu_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuHost]:
    """A box whose Docker daemon has no image."""
    folder = tmp_path_factory.mktemp("gpu-host")
    cache = folder / "cache"
    cache.mkdir()
    (cache / "wheels").symlink_to(
        load_settings().cache_dir / "wheels"
    )  # what pip fetched for the sandbox of this machine
    settings = {"image": ROCM, "cache_dir": str(cache), "data_dir": str(folder / "data")}
    host = start_gpu_host(folder, settings, programs=_python_and_ours())
    yield host
    host.stop()


@pytest.fixture(scope="session")
def gpu_host(bare_gpu_host: GpuHost, sandbox: Sandbox) -> GpuHost:
    """A box with the ROCm image and, by `amdkernel setup`, the sandbox image."""
    give_rocm_image(bare_gpu_host, sandbox)
    ended = bare_gpu_host.amdkernel("setup", "--host", "gpu1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    said = [line.split(": ")[0] for line in ended.stdout.splitlines()]
    assert said == [f"✓ gpu1:{index} {probe}" for index in (0, 1) for probe in ("launches", "counted")], ended.stdout
    return bare_gpu_host


def _python_and_ours() -> list[Path]:
    """The folders that a worker inside the box is made of; all below /usr is there."""
    found: list[Path] = []
    wanted = {CHECKOUT, Path(sys.base_prefix), *(Path(entry).resolve() for entry in sys.path if Path(entry).is_dir())}
    for path in sorted(wanted):
        if not any(path.is_relative_to(other) for other in (Path("/usr"), *found)):
            found.append(path)
    return found

"""The GPU host in a box, with a ROCm image in its Docker daemon."""

from collections.abc import Iterator

import pytest
from gpu_host_box import GpuHost, start_gpu_host
from pod import python_and_ours
from rocm_image import ROCM, give_rocm_image

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.sandbox import Sandbox


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
    host = start_gpu_host(folder, settings, programs=python_and_ours())
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

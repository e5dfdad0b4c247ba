"""One cluster for all tests of a process, and one Docker daemon for the workers on its nodes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu_host"))  # the driver's files of a machine with GPUs

from gpu_host_box import GpuHost
from nodes_with_workers import nodes_with_workers
from slurm_cluster import NoClusterError, SlurmCluster

from amdkernel_mcp.execution.sandbox import Sandbox


@pytest.fixture(scope="session")
def running_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    cluster = SlurmCluster(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.start()
        yield cluster
    except NoClusterError as error:
        pytest.skip(f"no Slurm cluster can be made here: {error}")
    finally:
        cluster.stop()


@pytest.fixture
def cluster(running_cluster: SlurmCluster) -> Iterator[SlurmCluster]:
    """The cluster, with idle nodes and without jobs before and after a test."""
    running_cluster.clean()
    yield running_cluster
    running_cluster.clean()


@pytest.fixture(scope="session")
def box(running_cluster: SlurmCluster, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuHost]:
    """The GPU host whose Docker daemon all nodes use; the real worker is on them."""
    with nodes_with_workers(running_cluster, sandbox, tmp_path_factory.mktemp("nodes")) as host:
        yield host

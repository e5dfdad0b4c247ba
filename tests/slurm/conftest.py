"""One cluster for all tests of a process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu_host"))  # the driver's files of a machine with GPUs

from slurm_cluster import NoClusterError, SlurmCluster


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

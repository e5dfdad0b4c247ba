"""A container or a Docker daemon that ends while a job runs costs time, and is never an answer about the job."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.ownership import OWNER
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.sandbox import Sandbox, SandboxKind
from tests.execution.second_docker import SecondDocker, second_docker
from tests.execution.test_docker_sandbox import PRINT_OWN_ID

pytestmark = pytest.mark.sandbox

WAITS = ["sh", "-c", f"{PRINT_OWN_ID}; sleep 5; echo right > $OUT/answer; exit 3"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["compile", "run"])
def test_a_job_whose_container_was_removed_by_hand_is_run_once_more(sandbox: Sandbox, kind: SandboxKind) -> None:
    daemon = connect(load_settings().docker_host)
    removed: list[str] = []

    with ThreadPoolExecutor(1) as thread:

        def remove_first(line: str) -> None:
            if not removed:
                removed.append(line)
                thread.submit(daemon.client.containers.get(line).remove, force=True)

        done = sandbox.run(kind, WAITS, {}, timeout_s=60, on_stderr=remove_first)
    daemon.close()
    assert removed
    assert (done.exit_code, done.files["answer"]) == (3, b"right\n")


@pytest.fixture(scope="module")
def other() -> Iterator[SecondDocker]:
    with second_docker() as started:
        yield started


@pytest.mark.thorough
def test_a_job_whose_docker_was_killed_and_started_again_has_its_answer_and_no_container_is_left(
    sandbox: Sandbox, other: SecondDocker
) -> None:
    other.load(sandbox.image_id)
    beside = DockerSandbox(connect(other.url), sandbox.image_id, pool=PoolSizes(compile=1, run=0))
    killed = threading.Event()

    def restart(_: str) -> None:
        if not killed.is_set():
            killed.set()
            other.kill()
            threading.Thread(target=other.start).start()

    done = beside.run("compile", WAITS, {}, timeout_s=60, on_stderr=restart)
    assert killed.is_set()
    assert (done.exit_code, done.files["answer"]) == (3, b"right\n")
    watcher = connect(other.url)
    gone = threading.Event()
    for _ in range(600):
        left = watcher.client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
        if not [each for each in left if each.status == "exited"]:
            break
        gone.wait(0.2)
    else:
        pytest.fail(f"containers are left: {left}")
    beside.close()
    watcher.close()

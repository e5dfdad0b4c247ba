"""A sandbox with so little of everything that an attack hits its limits at once."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.limits import COMPILE_LIMITS, MIB
from amdkernel_mcp.execution.sandbox import Completed, Sandbox

CRAMPED = replace(
    COMPILE_LIMITS,
    processes=48,
    memory_bytes=192 * MIB,
    file_bytes=32 * MIB,
    work_bytes=48 * MIB,
    out_bytes=24 * MIB,
    scratch_bytes=24 * MIB,
    grace_s=0.5,
)

Attack = Callable[..., Completed]


@pytest.fixture(scope="session")
def cramped(sandbox: Sandbox) -> Iterator[DockerSandbox]:
    """The same image under small limits, with a warm container of each kind."""
    opened = DockerSandbox(
        connect(load_settings().docker_host),
        sandbox.image_id,
        limits={"compile": CRAMPED, "run": CRAMPED},
        pool=PoolSizes(compile=1, run=0),
    )
    opened.warm_up()
    yield opened
    opened.close()


@pytest.fixture
def attack(cramped: DockerSandbox) -> Iterator[Attack]:
    """Run Python in the cramped sandbox. Whatever it did, the next job must find an untouched one."""

    def run(program: str, *, timeout_s: float = 60) -> Completed:
        return cramped.run("compile", ["python3", "-c", program], {"marker": b"mine"}, timeout_s=timeout_s)

    yield run
    after = cramped.run("compile", ["sh", "-c", "ls /tmp; cat marker"], {"marker": b"clean"}, timeout_s=60)
    assert after.stderr == "clean", f"the job after the attack found: {after}"

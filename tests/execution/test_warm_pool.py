"""A pool starts a container ahead of its job, and no more than its process will use."""

from typing import cast

from amdkernel_mcp.execution.docker.pool import Background, WarmContainer, WarmPool


class Waiting:
    """What a pool asks of a container."""

    def is_usable(self) -> bool:
        return True

    def destroy(self) -> None:
        pass


class Starts:
    """Counts the containers that a pool starts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> WarmContainer:
        self.count += 1
        return cast(WarmContainer, Waiting())


def test_a_process_with_one_job_starts_one_container() -> None:
    background = Background(threads=1)
    starts = Starts()
    pool = WarmPool(starts, background, size=1)
    pool.destroy(pool.take())
    background.close()  # does first what was submitted
    assert starts.count == 1


def test_from_the_second_job_on_a_container_waits_for_the_next() -> None:
    background = Background(threads=1)
    starts = Starts()
    pool = WarmPool(starts, background, size=1)
    for _ in range(2):
        pool.destroy(pool.take())
    background.close()
    assert starts.count == 3, "two jobs, and the one that waits"

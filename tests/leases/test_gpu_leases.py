"""Leases of GPUs: never two that time on one GPU, on SQLite and on Postgres."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import update

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database.leases import LEASE_S
from amdkernel_mcp.database.tables import gpu_leases
from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.leases import held
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.held import LeaseLostError, lease
from amdkernel_mcp.work import Work, current_work
from tests.history.postgres import postgres_server
from tests.waiting import AT_MOST_S

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    url = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return load_settings({"data_dir": tmp_path / "data", "database": url}, {})


@pytest.fixture
def gpu(tmp_path: Path) -> str:
    """A GPU that no other test has."""
    return tmp_path.name


@pytest.fixture
def here(own: Settings) -> Iterator[GpuLeases]:
    opened = GpuLeases(own)
    yield opened
    opened.close()


@pytest.fixture
def there(own: Settings) -> Iterator[GpuLeases]:
    """Another process's."""
    opened = GpuLeases(own)
    yield opened
    opened.close()


def expire(leases: GpuLeases, gpu: str, seconds: float = 0.0) -> None:
    with leases._engine().begin() as connection:
        connection.execute(update(gpu_leases).where(gpu_leases.c.gpu == gpu).values(lease_until=seconds))


def test_an_exclusive_lease_waits_for_that_of_another_process(here: GpuLeases, there: GpuLeases, gpu: str) -> None:
    first, granted = here.ask(gpu, "exclusive", "ann")
    assert granted
    second, granted = there.ask(gpu, "exclusive", "bob")
    assert not granted
    assert not there.take(second)
    assert there.ahead(second).count == 1
    assert here.end(first)
    assert there.take(second)
    assert second.fence > first.fence


def test_two_gpus_are_leased_at_once(here: GpuLeases, there: GpuLeases, gpu: str) -> None:
    assert here.ask(gpu, "exclusive", "ann")[1]
    assert there.ask(f"{gpu} other", "exclusive", "bob")[1]


def test_shared_leases_run_beside_each_other_and_never_beside_times(
    here: GpuLeases, there: GpuLeases, gpu: str
) -> None:
    one, granted = here.ask(gpu, "shared", "ann")
    assert granted
    two, granted = there.ask(gpu, "shared", "bob")
    assert granted
    timed, granted = there.ask(gpu, "exclusive", "bob")
    assert not granted
    late, granted = here.ask(gpu, "shared", "ann")
    assert not granted, "a check that comes later does not hold up times for ever"
    assert here.end(one)
    assert not there.take(timed)
    assert there.end(two)
    assert there.take(timed)
    assert not here.take(late)
    assert there.end(timed)
    assert here.take(late)


def test_a_late_holder_can_neither_renew_nor_end_its_lease(here: GpuLeases, there: GpuLeases, gpu: str) -> None:
    first, _ = here.ask(gpu, "exclusive", "ann")
    expire(here, gpu)
    second, granted = there.ask(gpu, "exclusive", "bob")
    assert granted
    assert not here.renew(first)
    assert not here.end(first)
    assert there.renew(second)
    assert there.end(second)
    assert not there.end(second), "a second end of the same lease"


def test_a_clock_that_was_set_back_keeps_nobody_waiting_for_hours(here: GpuLeases, there: GpuLeases, gpu: str) -> None:
    first, _ = here.ask(gpu, "exclusive", "ann")
    expire(here, gpu, time.time() + 6 * 3600)
    _, granted = there.ask(gpu, "exclusive", "bob")
    assert not granted, "whoever lives keeps it"
    with there._engine().begin() as connection:
        until = connection.execute(
            gpu_leases.select().with_only_columns(gpu_leases.c.lease_until).where(gpu_leases.c.fence == first.fence)
        ).scalar_one()
    assert until < time.time() + 3 * LEASE_S
    assert here.renew(first)


def test_a_lease_that_is_lost_while_it_is_used_leaves_no_answer(
    here: GpuLeases, gpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "RENEW_S", 0.05)
    with pytest.raises(LeaseLostError), lease(here, gpu, "exclusive", Work("ann")):  # noqa: PT012 - the block is the test
        expire(here, gpu)
        deadline = time.monotonic() + AT_MOST_S
        while not current_work().cancellation.asked:  # as a container is ended
            assert time.monotonic() < deadline, "what runs was not ended"
            time.sleep(0.01)


def test_what_runs_under_a_lease_is_a_part_of_the_work_that_asked_for_it(here: GpuLeases, gpu: str) -> None:
    work, seen = Work("ann", held=frozenset({"other"})), []
    for kind in ("exclusive", "shared"):
        with lease(here, gpu, kind, work):
            seen.append(current_work())
    assert [(each.owner, each.held) for each in seen] == [
        ("ann", frozenset({"other", gpu})),
        ("ann", frozenset({"other"})),
    ]
    assert {each.used for each in seen} == {work.used}
    assert work.used.gpu_s > 0
    assert current_work().held == frozenset(), "after the block"


def test_an_answer_that_comes_after_the_deadline_is_not_taken(here: GpuLeases, gpu: str) -> None:
    with pytest.raises(LeaseLostError), lease(here, gpu, "exclusive", Work("ann")):
        expire(here, gpu)


def test_without_a_database_there_is_no_lease(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    leases = GpuLeases(load_settings({"data_dir": tmp_path / "file" / "data"}, {}))
    ran = []
    with pytest.raises(DatabaseError), lease(leases, "gpu", "exclusive", Work("ann")):
        ran.append(1)
    assert not ran


def test_a_cancelled_wait_leaves_the_queue(here: GpuLeases, there: GpuLeases, gpu: str) -> None:
    first, _ = here.ask(gpu, "exclusive", "ann")
    token, said, waits = Cancellation(), [], []

    def say(text: str) -> None:
        said.append(text)
        waits.append(work.used.waits)
        token.cancel()

    work = Work("bob", token, say)
    with pytest.raises(CancelledWorkError), lease(there, gpu, "exclusive", work, name="gpu1:0"):
        pass
    assert (waits, work.used.waits) == ([1], 0), "its state says that it waits, for as long as it does"
    assert said[0] == "waits for the GPU gpu1:0, 1 lease before it; one of ann has it for 0 s"
    assert work.used.waits_for == said[0]
    third, _ = here.ask(gpu, "exclusive", "ann")
    assert here.end(first)
    assert here.take(third)


def test_gpu_seconds_are_counted_for_their_user_and_only_the_exclusive_ones(here: GpuLeases, gpu: str) -> None:
    for kind in ("exclusive", "shared"):
        asked, _ = here.ask(gpu, kind, gpu)
        with here._engine().begin() as connection:
            row = gpu_leases.c.fence == asked.fence
            connection.execute(update(gpu_leases).where(row).values(granted=gpu_leases.c.granted - 100))
        assert here.end(asked)
    used, frees = here.used_s(gpu)
    assert 100 <= used < 160
    assert 86000 < frees <= 86400
    assert here.used_s("another") == (0.0, 0.0)


def test_a_lease_whose_holder_is_gone_counts_until_its_deadline_and_no_further(here: GpuLeases, gpu: str) -> None:
    asked, _ = here.ask(gpu, "exclusive", gpu)
    with here._engine().begin() as connection:
        times = {name: gpu_leases.c.asked - ago for name, ago in (("granted", 1000), ("lease_until", 900))}
        connection.execute(update(gpu_leases).where(gpu_leases.c.fence == asked.fence).values(times))
    assert not [each for each in here.held() if each.gpu == gpu]
    used, frees = here.used_s(gpu)
    assert used == pytest.approx(100), "not the 900 s since, in which no user had it"
    assert 85000 < frees <= 85500
    [past] = [each for each in here.past(7) if each.gpu == gpu]
    assert past.from_s - past.until_s == pytest.approx(100)
    with here._engine().begin() as connection:
        long_ago = gpu_leases.c.asked - 2 * 86400
        of_this = update(gpu_leases).where(gpu_leases.c.fence == asked.fence)
        connection.execute(of_this.values(granted=long_ago - 100, lease_until=long_ago))
    assert here.used_s(gpu) == (0.0, 0.0), "more than a day ago"


_HOLDER = """
import sys, time
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.leases.gpu_leases import GpuLeases
leases = GpuLeases(load_settings({"data_dir": sys.argv[1], "database": sys.argv[2] or None}, {}))
print(leases.ask(sys.argv[3], "exclusive", "ann")[1], flush=True)
time.sleep(600)
"""


def test_the_lease_of_a_killed_process_is_free_at_once(own: Settings, here: GpuLeases, gpu: str) -> None:
    command = [sys.executable, "-c", _HOLDER, str(own.data_dir), own.database or "", gpu]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "True"
        waits, granted = here.ask(gpu, "exclusive", "bob")
        assert not granted
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert here.take(waits)


def test_of_many_threads_and_two_processes_one_at_a_time_has_the_gpu(
    here: GpuLeases, there: GpuLeases, gpu: str
) -> None:
    inside, most, done = [0], [0], []
    lock = threading.Lock()

    def work(leases: GpuLeases) -> None:
        for _ in range(5):
            with lease(leases, gpu, "exclusive", Work("ann")):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                time.sleep(0.005)
                with lock:
                    inside[0] -= 1
            done.append(1)

    threads = [threading.Thread(target=work, args=(leases,)) for leases in (here, there) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert (most[0], len(done)) == (1, 30)

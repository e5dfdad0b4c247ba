"""GPUs from a real Slurm: its own daemons in containers, crashed and broken where a test says so.

The workers on the nodes are stand-ins that report through files; test_slurm_server.py has the real one.
"""

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from slurm_cluster import SlurmCluster
from stand_in_workers import StandInSandbox, StandInWorkers

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.config import SlurmSettings
from amdkernel_mcp.slurm import allocations as module
from amdkernel_mcp.slurm.allocations import Allocation, Allocations
from amdkernel_mcp.slurm.commands import Comment, SlurmCommands, SlurmError
from amdkernel_mcp.slurm.doctor import slurm_doctor
from amdkernel_mcp.slurm.slurm_sandbox import SlurmSandbox
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.thorough, pytest.mark.slow]


def settings_of(cluster: SlurmCluster, *options: str) -> SlurmSettings:
    return SlurmSettings(
        gres={"gfx942": "gpu:gfx942"},
        url="http://server.invalid",
        token_file="/shared/token",
        amdkernel="/machine/amdkernel",
        options=list(options),
        output="/shared/output.%j",
        commands=cluster.prefix,
    )


@pytest.fixture
def workers(cluster: SlurmCluster) -> StandInWorkers:
    return StandInWorkers(cluster)


@pytest.fixture
def allocations(
    cluster: SlurmCluster, workers: StandInWorkers, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Allocations]:
    monkeypatch.setattr(module, "IDLE_S", 0.5)
    opened = open_allocations(cluster, workers)
    yield opened
    opened.close()


class HeldCommands(SlurmCommands):
    """Submits nothing while `free` is not set."""

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix)
        self.free = threading.Event()
        self.free.set()

    def submit(self, script: str, options: Sequence[str]) -> str:
        assert self.free.wait(120), "held for too long"
        return super().submit(script, options)


def open_allocations(
    cluster: SlurmCluster,
    workers: StandInWorkers,
    *options: str,
    dead: str = "",
    commands: SlurmCommands | None = None,
) -> Allocations:
    return Allocations(
        settings_of(cluster, *options),
        commands or SlurmCommands(cluster.prefix),
        workers,  # as much of the hub as is used
        holder=f"this/process/{secrets.token_hex(4)}",
        is_dead=lambda name: name == dead,
    )


def test_a_session_gets_a_gpu_and_its_job_ends_with_it(cluster: SlurmCluster, allocations: Allocations) -> None:
    said: list[str] = []
    with (
        allocations.borrowed("gfx942", Work("ann", say=said.append)) as one,
        allocations.borrowed("gfx942", Work("ann")) as other,
    ):
        first, second = _stand_in(one.sandbox), _stand_in(other.sandbox)
        assert {(first.node, first.index), (second.node, second.index)} == {("gpu1", 0), ("gpu1", 1)}, said
        assert len(cluster.jobs()) == 2
    cluster.until(lambda: not cluster.jobs(), 30, "the jobs have ended")
    assert said[-1] == "has a GPU of gfx942 from Slurm"


@pytest.mark.soak
def test_the_next_run_of_the_same_user_has_the_same_gpu_and_another_user_has_not(
    allocations: Allocations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_S", 20.0)
    with allocations.borrowed("gfx942", Work("ann")) as first:
        pass
    with allocations.borrowed("gfx942", Work("ann")) as again, allocations.borrowed("gfx942", Work("bob")) as of_bob:
        assert again is first
        assert of_bob is not first


def test_a_waiting_run_has_the_gpu_of_a_run_of_the_same_user_that_is_over_and_its_own_job_ends(
    cluster: SlurmCluster, allocations: Allocations
) -> None:
    waits = threading.Event()

    def waiting(user: str) -> Allocation:
        with allocations.borrowed(
            "gfx942", Work(user, say=lambda said: waits.set() if "queue" in said else None)
        ) as got:
            return got

    with ThreadPoolExecutor(2) as pool:
        with allocations.borrowed("gfx942", Work("ann")) as first:
            cluster.inside("ctl", "scontrol", "update", "nodename=gpu[1-3]", "state=drain", "reason=test")
            of_bob = pool.submit(waiting, "bob")
            assert waits.wait(30)
            waits.clear()
            of_ann = pool.submit(waiting, "ann")
            assert waits.wait(30)
        assert of_ann.result(30) is first
        cluster.until(lambda: len(cluster.jobs()) == 1, 30, "Bob's job alone is left")
        assert not of_bob.done(), "a GPU of one user is not given to another"
        cluster.inside("ctl", "scontrol", "update", "nodename=gpu[1-3]", "state=resume")
        assert of_bob.result(60) is not first


@pytest.mark.soak
def test_a_gpu_that_is_held_for_long_goes_back_to_slurm(
    cluster: SlurmCluster, allocations: Allocations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_S", 600.0)
    monkeypatch.setattr(module, "REUSED_S", 0.0)
    with allocations.borrowed("gfx942", Work("ann")):
        pass
    cluster.until(lambda: not cluster.jobs(), 30, "its job has ended")


def test_nothing_is_lost_or_taken_twice_when_the_controller_is_killed_after_it_accepted(
    cluster: SlurmCluster, workers: StandInWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_S", 0.5)
    count = 5
    commands = HeldCommands(cluster.prefix)
    allocations = open_allocations(cluster, workers, "--begin=now+3", commands=commands)
    together = threading.Barrier(count)
    cancellation = Cancellation()

    def session(_: int) -> tuple[str, int]:
        with allocations.borrowed("gfx942", Work(f"user{_}", cancellation=cancellation)) as got:
            together.wait(120)  # so that none is given to another
            return got.submission.key, got.submission.fence

    with ThreadPoolExecutor(count) as pool, _ended_on_failure(cancellation, commands):
        sessions = [pool.submit(session, number) for number in range(count)]
        cluster.until(lambda: len(cluster.jobs()) == count, 30, "all are accepted")
        accepted = {line.split("|")[0] for line in cluster.jobs()}
        commands.free.clear()
        cluster.kill_controller()
        cluster.start_controller()
        strangers = {_stranger(cluster) for _ in range(count)}  # before ours come again: they get their ids
        commands.free.set()
        done = dict(each.result(180) for each in sessions)
    assert len(done) == count
    assert max(done.values()) > 1, "Slurm lost no job: this tested nothing"
    assert accepted & strangers, "no id was used again: this tested less than it should"
    taken = [job for key, job in workers.accepted.items() if key.split(".")[0] in done]
    assert len(taken) == len(set(taken)) == count
    assert not set(taken) & strangers
    allocations.close()


def test_a_job_whose_node_is_sick_is_released_for_another_node(cluster: SlurmCluster, allocations: Allocations) -> None:
    cluster.break_gpu("gpu1")
    said: list[str] = []
    with allocations.borrowed("gfx942", Work("ann", say=said.append)) as got:
        assert _stand_in(got.sandbox).node in ("gpu2", "gpu3")
    assert any("a node failed before the job began" in line for line in said), said
    assert cluster.states()["gpu1"].startswith("drain")


@pytest.mark.soak
def test_a_session_fails_with_the_nodes_and_the_reason_when_all_are_sick(
    cluster: SlurmCluster, allocations: Allocations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amdkernel_mcp.slurm.reconcile.MOST_RELEASES", 1)
    for node in ("gpu1", "gpu2"):
        cluster.break_gpu(node)
    with (
        pytest.raises(SlurmError, match=r"gpu1 is drain\w*: Prolog error.*gpu2"),
        allocations.borrowed("gfx942", Work("ann")),
    ):
        pass
    cluster.until(lambda: not cluster.jobs(), 30, "the job is ended")


def test_a_cancelled_session_ends_its_job_while_it_waits_and_while_it_runs(
    cluster: SlurmCluster, workers: StandInWorkers, allocations: Allocations
) -> None:
    waiting, token = open_allocations(cluster, workers, "--begin=now+600"), Cancellation()
    threading.Timer(2.0, token.cancel).start()
    with pytest.raises(CancelledWorkError), waiting.borrowed("gfx942", Work("ann", token)):
        pass
    cluster.until(lambda: not cluster.jobs(), 30, "the waiting job is ended")
    with pytest.raises(CancelledWorkError), allocations.borrowed("gfx942", Work("ann")):
        raise CancelledWorkError
    assert workers.accepted
    cluster.until(lambda: not cluster.jobs(), 30, "the running job is ended")
    waiting.close()


@pytest.mark.soak
def test_a_worker_that_does_not_go_by_itself_gets_sigterm(
    cluster: SlurmCluster, workers: StandInWorkers, allocations: Allocations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAVES_S", 1.0)
    monkeypatch.setattr(workers, "tell_to_go", lambda _: None)
    with allocations.borrowed("gfx942", Work("ann")) as got:
        key = _stand_in(got.sandbox).key
    cluster.until(lambda: not cluster.jobs(), 60, "the job is ended")
    assert key in workers.signals()


def test_the_jobs_of_a_server_that_is_dead_are_ended_by_the_next_one(
    cluster: SlurmCluster, workers: StandInWorkers
) -> None:
    left = Comment("00112233aabbccdd", 1, "dead/process")
    elsewhere = Comment("ffeeddcc99887766", 1, "another/process")
    commands = SlurmCommands(cluster.prefix)
    for comment in (left, elsewhere):
        commands.submit("#!/bin/sh\nsleep 600\n", [f"--comment={comment}", "--output=/dev/null"])
    following = open_allocations(cluster, workers, "--begin=now+2", dead="dead/process")
    with following.borrowed("gfx942", Work("ann")):
        comments = {line.split("|")[1] for line in cluster.jobs() if "COMPLETING" not in line}
    assert str(left) not in comments
    assert str(elsewhere) in comments
    following.close()


@pytest.mark.soak
def test_a_run_whose_job_an_administrator_cancels_is_not_taken_once_more(
    cluster: SlurmCluster, workers: StandInWorkers, allocations: Allocations
) -> None:
    sandbox = SlurmSandbox(allocations, "gfx942", StandInSandbox(cluster, "", "", "ctl", 0))
    with pytest.raises(SlurmError, match="cancelled in Slurm while it ran"):
        sandbox.run("run", ["be cancelled"], {}, timeout_s=1)
    assert len(workers.accepted) == 1


def test_the_doctor_finds_nothing_in_a_good_cluster_and_names_what_is_broken(
    cluster: SlurmCluster, allocations: Allocations
) -> None:
    good = slurm_doctor(settings_of(cluster))
    assert good.ok
    assert {check.status for check in good.checks} == {"ok"}, good.checks
    cluster.break_gpu("gpu1")
    with allocations.borrowed("gfx942", Work("ann")):
        pass
    broken = slurm_doctor(settings_of(cluster).model_copy(update={"gres": {"gfx950": "gpu:mi355x"}}))
    found = {check.name: check for check in broken.checks if check.status != "ok"}
    assert not broken.ok
    assert "gpu:gfx942:2" in found["slurm:gfx950"].found
    assert "Prolog error" in found["node gpu1"].found
    assert "state=resume" in (found["node gpu1"].remedy or "")
    cluster.kill_controller()
    away = slurm_doctor(settings_of(cluster))
    cluster.start_controller()
    assert [check.status for check in away.checks] == ["missing"]


def test_a_run_whose_node_dies_is_taken_once_more_on_another_node(
    cluster: SlurmCluster, allocations: Allocations
) -> None:
    """The last test: the node stays dead until the next one needs it."""
    here = StandInSandbox(cluster, "", "", "ctl", 0)
    sandbox = SlurmSandbox(allocations, "gfx942", here)
    assert sandbox.run("compile", ["true"], {}, timeout_s=1).files["node"] == b"ctl"
    begun = time.monotonic()
    done = sandbox.run("run", ["lose the node", "gpu1"], {}, timeout_s=1)
    assert done.files["node"] in (b"gpu2", b"gpu3"), time.monotonic() - begun
    with sandbox.exclusively(Work()):
        assert sandbox.run("compile", ["true"], {}, timeout_s=1).files["node"] in (b"gpu2", b"gpu3")
    cluster.revive("gpu1")


def _stand_in(sandbox: object) -> StandInSandbox:
    assert isinstance(sandbox, StandInSandbox)
    return sandbox


@contextmanager
def _ended_on_failure(cancellation: Cancellation, commands: HeldCommands) -> Iterator[None]:
    """Ends the sessions where a step fails, so that the step is named and not the wait for them."""
    try:
        yield
    except BaseException:
        cancellation.cancel()
        commands.free.set()
        raise


def _stranger(cluster: SlurmCluster) -> str:
    """The id of a job of another user."""
    command = ("sbatch", "--parsable", "--output=/dev/null", "--hold", "--wrap=true")
    return cluster.inside("ctl", *command).strip()

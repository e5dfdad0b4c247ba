"""Which hosts the hub knows, and for how long it waits for one that may come back."""

import threading

import pytest

from amdkernel_mcp import __version__
from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import UnknownTargetError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.execution.targets import find_target, list_targets
from amdkernel_mcp.work import Work, cancelled_by, doing
from amdkernel_mcp.workers.hub import KEPT_S, RECONNECT_S, WorkerHub, build
from amdkernel_mcp.workers.messages import LEASE_S, Draining, FromServer, Hello, OfferedGpu, Release, Renew


class Link:
    def __init__(self) -> None:
        self.posted: list[FromServer] = []

    def send(self, message: FromServer) -> None: ...

    def post(self, message: FromServer) -> None:
        self.posted.append(message)


class Clock:
    """Stands still between the steps of a test."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


HELLO = Hello(
    version=__version__,
    build=build(),
    name="gpu7",
    image_id="sha256:0",
    isolation="docker",
    emulator=True,
    slots=4,
    gpus=[OfferedGpu(index=2, arch="gfx942", name="MI300X", render_node="/dev/dri/renderD130", unique_id=None)],
)


def test_a_host_brings_targets_while_its_worker_is_there(settings: Settings) -> None:
    hub = WorkerHub(clock=lambda: 1000.0)
    connection = hub.join(HELLO, Link())
    gpu, emulated = (find_target(name, settings, hub) for name in ("gpu7:2", "gpu7:gfx942"))
    assert (gpu.kind, gpu.host, gpu.index, gpu.id) == ("gpu", "gpu7", 2, "gpu7/dev/dri/renderD130")
    assert (emulated.kind, emulated.host, emulated.index) == ("emulator", "gpu7", None)
    with pytest.raises(UnknownTargetError, match="there is no target 'gpu7:0'"):
        find_target("gpu7:0", settings, hub)
    hub.leave(connection)
    left = [each for each in list_targets(settings, hub) if each.name == "gpu7:2"]
    assert [(each.ready, each.note) for each in left] == [(False, "the worker of gpu7 left 0 s ago")]


def test_a_host_that_left_is_listed_for_a_day() -> None:
    clock = Clock()
    hub = WorkerHub(clock=clock)
    hub.leave(hub.join(HELLO, Link()))
    clock.now_s += 7200
    assert [host.note for host in hub.hosts()] == ["the worker of gpu7 left 2 h ago"]
    clock.now_s += KEPT_S
    assert hub.hosts() == []


def test_a_worker_that_has_just_left_is_waited_for_and_one_that_left_long_ago_is_not() -> None:
    clock = Clock()
    hub = WorkerHub(clock=clock)
    hub.leave(hub.join(HELLO, Link()))
    back = threading.Timer(0.3, hub.join, (HELLO, Link()))
    back.start()
    connection = hub.connection("gpu7")
    assert connection.hello is HELLO
    hub.leave(connection)
    clock.now_s += RECONNECT_S
    with pytest.raises(LostWorkerError):
        hub.connection("gpu7")


def test_the_hosts_of_a_server_that_has_just_started_are_waited_for() -> None:
    clock = Clock()
    hub = WorkerHub(clock=clock)
    assert hub.find("gpu7") is None, "no worker can come to a command line"
    hub.open()
    threading.Timer(0.3, hub.join, (HELLO, Link())).start()
    assert hub.find("gpu7") is not None
    clock.now_s += RECONNECT_S + 1
    assert hub.find("gpu8") is None


def test_a_host_of_which_no_worker_was_ever_seen_is_not_waited_for(settings: Settings) -> None:
    hub = WorkerHub()
    hub.open(seen=["gpu7"])
    with pytest.raises(UnknownTargetError, match=r"there is no target 'gqu7:0'; did you mean gpu7:0\?"):
        find_target("gqu7:0", settings, hub)


def test_a_host_that_was_there_before_this_server_is_away_and_not_unknown(settings: Settings) -> None:
    clock = Clock()
    hub = WorkerHub(clock=clock)
    hub.open(seen=["gpu7"])
    clock.now_s += RECONNECT_S + 1
    assert (hub.away_s("gpu7"), hub.away_s("gpu8")) == (RECONNECT_S + 1, None)
    with pytest.raises(LostWorkerError, match="the worker of gpu7 is not connected"):
        find_target("gpu7:0", settings, hub)
    hub.leave(hub.join(HELLO, Link()))
    assert hub.away_s("gpu7") == 0


def test_a_wait_for_a_worker_can_be_cancelled() -> None:
    hub, token = WorkerHub(), Cancellation()
    hub.open()
    threading.Timer(0.2, token.cancel).start()
    with cancelled_by(token), pytest.raises(CancelledWorkError):
        hub.find("gpu7")


def test_a_worker_that_is_silent_gets_no_more_runs() -> None:
    clock = Clock()
    hub = WorkerHub(clock=clock)
    hub.join(HELLO, Link())
    clock.now_s += 8
    with pytest.raises(LostWorkerError):
        hub.connection("gpu7", wait_s=0)


def test_a_worker_that_drains_serves_the_job_that_has_begun_on_it_and_is_released_at_its_end() -> None:
    hub, link, said = WorkerHub(), Link(), list[str]()
    first = hub.join(HELLO, link)
    with hub.job(Work(say=said.append)) as work, doing(work):
        assert hub.connection("gpu7") is first
        first.receive(Draining())
        assert hub.connection("gpu7") is first
        assert link.posted == []
    assert link.posted == [Release()]
    assert said == []


def test_a_new_job_waits_for_the_worker_after_the_one_that_drains_and_says_so() -> None:
    clock = Clock()
    hub, link, said = WorkerHub(clock=clock), Link(), list[str]()
    first = hub.join(HELLO, link)
    first.receive(Draining())
    assert link.posted == [Release()], "nothing has begun there"
    second = threading.Timer(0.6, hub.join, (HELLO, Link()))

    def hear(text: str) -> None:
        said.append(text)
        if len(said) == 1:
            clock.now_s += 2 * RECONNECT_S
            first.receive(Renew(fences=[]))
            threading.Timer(0.3, hub.leave, (first,)).start()
            second.start()

    with hub.job(Work(say=hear)) as work, doing(work):
        assert hub.connection("gpu7") is not first
    assert said == [
        "waiting for the next worker of gpu7: this one is draining",
        "waiting up to 60 s for the worker of gpu7",
        "the worker of gpu7 is there again",
    ]


def test_a_job_says_for_how_long_it_waits_for_a_worker_that_has_left() -> None:
    clock, said = Clock(), list[str]()
    hub = WorkerHub(clock=clock)
    hub.leave(hub.join(HELLO, Link()))
    clock.now_s += 20

    def hear(text: str) -> None:
        said.append(text)
        clock.now_s += RECONNECT_S

    with hub.job(Work(say=hear)) as work, doing(work), pytest.raises(LostWorkerError):
        hub.connection("gpu7")
    assert said == ["waiting up to 40 s for the worker of gpu7"]


def test_the_worker_of_a_session_that_says_nothing_is_not_connected() -> None:
    clock, key = Clock(), "0123456789abcdef0123"
    hub = WorkerHub(clock=clock)
    with hub.expected(key) as arrival:
        connection = hub.join(HELLO.model_copy(update={"key": key}), Link())
        came = arrival.came()
        assert came is not None
        assert came[0].is_connected()
        clock.now_s += LEASE_S / 2 + 1
        assert not came[0].is_connected(), "its node may have lost its power"
        connection.receive(Renew(fences=[]))
        assert came[0].is_connected()

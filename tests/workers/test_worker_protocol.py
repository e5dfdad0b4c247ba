"""Workers that say what they should not, or too late: the real server, and a client that a test writes by hand."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from amdkernel_mcp import __version__
from amdkernel_mcp.errors import AmdkernelError, SandboxError
from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.execution.docker.archive import pack, unpack
from amdkernel_mcp.execution.sandbox import Completed
from amdkernel_mcp.workers.messages import (
    Cancel,
    Done,
    Failed,
    Files,
    FromServer,
    Lines,
    Output,
    Refused,
    Renew,
    Start,
    Welcome,
)
from tests.workers.server_with_workers import USER, WORKER_OF_GPU7, HandWorker, Server, until


class Asked:
    """A run on the worker `hand`, in a thread of its own."""

    def __init__(self, plain_server: Server, output_limit_bytes: int = 1 << 20) -> None:
        self.done: Completed | None = None
        self.error: AmdkernelError | None = None
        self._thread = threading.Thread(target=self._run, args=(plain_server, output_limit_bytes))
        self._thread.start()

    def _run(self, plain_server: Server, limit: int) -> None:
        try:
            sandbox = plain_server.hub.sandbox("hand", None)
            self.done = sandbox.run(
                "run", ["true"], {"in": b"1"}, timeout_s=5, on_stderr=lambda _: None, output_limit_bytes=limit
            )  # fmt: skip
        except AmdkernelError as error:
            self.error = error

    def join(self) -> "Asked":
        self._thread.join(90)
        assert not self._thread.is_alive(), "the run did not end"
        return self


def take(hand: HandWorker) -> int:
    """Take the next run; its fence."""
    start: FromServer = hand.hear()
    while not isinstance(start, Start):
        start = hand.hear()
    files = bytearray()
    while len(files) < start.archive_bytes:
        piece = hand.hear()
        assert isinstance(piece, Files)
        files += piece.data
    assert unpack(files).files == {"in": b"1"}
    return start.fence


def answer(fence: int, output_bytes: int, **changes: object) -> Done:
    said = {
        "fence": fence, "exit_code": 0, "stderr": "", "timed_out": False, "out_of_memory": False, "truncated": False,
        "stderr_cut": False, "seconds": 0.1, "output_bytes": output_bytes,
    }  # fmt: skip
    return Done.model_validate(said | changes)


def give(hand: HandWorker, fence: int) -> None:
    archive = pack({"out": b"2"})
    hand.say(Output(fence=fence, data=archive))
    hand.say(answer(fence, len(archive)))


@pytest.fixture
def hand(plain_server: Server) -> HandWorker:
    connected = plain_server.by_hand()
    assert connected.hear() == Welcome(server_version=__version__)
    return connected


@pytest.mark.parametrize(
    ("token", "status", "why"),
    [
        (None, 401, "a known token is needed"),
        ("token-of-somebody-else", 401, "a known token is needed"),
        (USER, 403, "a worker needs a token with the scope `worker` and no other"),
    ],
)
def test_only_the_token_of_a_worker_is_accepted(plain_server: Server, token: str | None, status: int, why: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        plain_server.by_hand(token=token)
    assert refused.value.response.status_code == status
    assert (refused.value.response.body or b"").decode().strip() == why


def test_a_web_page_cannot_be_a_worker(plain_server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        plain_server.opened.enter_context(
            connect(f"ws://127.0.0.1:{plain_server.port}/worker", origin=Origin("http://127.0.0.1"))
        )
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    ("changes", "why", "again"),
    [
        ({"version": "0.1.0"}, "this worker has version 0.1.0 of amdkernel-mcp, and the server has", False),
        ({"build": "other"}, "this worker's sandbox is built from other files than the server's", False),
        ({"name": "configured"}, "configured is a host in the server's settings", False),
        ({"name": "local"}, "local is a host in the server's settings", False),
        ({"name": "hand"}, "another worker is connected as hand", True),
        ({"key": "k" * 20}, "the server expects no worker with this key", False),
    ],
)
@pytest.mark.usefixtures("hand")
def test_a_worker_that_does_not_fit_is_refused_with_the_reason(
    plain_server: Server, changes: dict[str, object], why: str, again: bool
) -> None:
    refused = plain_server.by_hand("other", changes).hear()
    assert isinstance(refused, Refused)
    assert refused.message.startswith(why)
    assert refused.again is again
    assert [host.name for host in plain_server.hub.hosts()] == ["hand"]


def test_a_key_is_for_one_worker(plain_server: Server) -> None:
    with plain_server.hub.expected("k" * 20):
        assert isinstance(plain_server.by_hand(changes={"key": "k" * 20}).hear(), Welcome)
        second = plain_server.by_hand(changes={"key": "k" * 20}).hear()
    assert isinstance(second, Refused)
    assert second.message == "a worker with this key has come before"


def test_what_a_worker_answers_is_what_the_run_returns(plain_server: Server, hand: HandWorker) -> None:
    asked = Asked(plain_server)
    give(hand, take(hand))
    assert asked.join().done.files == {"out": b"2"}


def test_an_answer_is_taken_once_and_a_second_one_is_logged(
    plain_server: Server, hand: HandWorker, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Asked(plain_server)
    fence = take(hand)
    give(hand, fence)
    assert asked.join().done.exit_code == 0
    with caplog.at_level(logging.WARNING):
        hand.say(answer(fence, 0, exit_code=1))
        until(lambda: f"answers run {fence}, which it does not hold any more" in caplog.text)
    assert plain_server.is_there("hand"), "it may have crossed the cancellation on its way"


@pytest.mark.thorough
def test_a_run_whose_lease_was_lost_is_taken_again_and_its_late_answer_is_refused(
    plain_server: Server, hand: HandWorker, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Asked(plain_server)
    first = take(hand)
    renewed = threading.Event()

    def renew_nothing() -> None:
        while not renewed.wait(2):
            hand.say(Renew(fences=[]))

    thread = threading.Thread(target=renew_nothing)
    thread.start()
    second = take(hand)  # 15 s later
    renewed.set()
    thread.join()
    assert second > first
    with caplog.at_level(logging.WARNING):
        hand.say(answer(first, 0, exit_code=1))
        give(hand, second)
        assert asked.join().done.exit_code == 0, "the answer of the holder"
    assert f"answers run {first}, which it does not hold any more" in caplog.text


def test_a_worker_that_renews_what_is_over_is_told_to_end_it(hand: HandWorker) -> None:
    hand.say(Renew(fences=[7]))
    assert hand.hear() == Cancel(fence=7)


@pytest.mark.thorough
def test_a_worker_that_says_nothing_is_closed(plain_server: Server, hand: HandWorker) -> None:
    with pytest.raises(ConnectionClosed):
        hand.hear(60)
    until(lambda: not plain_server.is_there("hand"))


def test_the_error_of_a_workers_sandbox_is_no_verdict(plain_server: Server, hand: HandWorker) -> None:
    asked = Asked(plain_server)
    hand.say(Failed(fence=take(hand), error="sandbox", message="Docker is away", hint="start it"))
    error = asked.join().error
    assert isinstance(error, SandboxError)
    assert (error.message, error.hint) == ("Docker is away (on hand)", "start it")


def test_output_files_that_are_cut_are_no_result(plain_server: Server, hand: HandWorker) -> None:
    asked = Asked(plain_server)
    fence = take(hand)
    archive = pack({"out": b"2" * 2000})[:1024]
    hand.say(Output(fence=fence, data=archive))
    hand.say(answer(fence, len(archive)))
    assert asked.join().error.message == "the output files of a run on hand came damaged"


@pytest.mark.parametrize("frame", [b"", b"junk", b"\xc1", b"\x91" * 100_000, "text", b"\x81\xa4type\xa4nope"])
def test_junk_ends_the_connection(plain_server: Server, hand: HandWorker, frame: str | bytes) -> None:
    hand.socket.send(frame)
    with pytest.raises(ConnectionClosed) as closed:
        hand.hear()
    assert closed.value.rcvd.code == 1008
    until(lambda: not plain_server.is_there("hand"))


def test_a_message_that_never_ends_is_not_kept(plain_server: Server, hand: HandWorker) -> None:
    piece = bytes(1 << 20)
    sent = 0

    def a_gigabyte() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(1024):
            sent += len(piece)
            yield piece

    with pytest.raises(ConnectionClosed):
        hand.socket.send(a_gigabyte())
    assert sent < 1 << 30, "the server closed the connection before"
    until(lambda: not plain_server.is_there("hand"))


@pytest.mark.parametrize("kind", ["lines", "output"])
def test_a_run_cannot_return_more_than_was_asked_for(plain_server: Server, hand: HandWorker, kind: str) -> None:
    asked = Asked(plain_server, output_limit_bytes=1000)
    fence = take(hand)
    size = 512 << 10
    flood = Output(fence=fence, data=bytes(size)) if kind == "output" else Lines(fence=fence, text="x" * size)
    with suppress(ConnectionClosed):
        for _ in range(200):
            hand.say(flood)
    until(lambda: not plain_server.is_there("hand"))
    again = plain_server.by_hand()
    again.hear()
    give(again, take(again))
    assert asked.join().done.exit_code == 0


@pytest.mark.thorough
def test_a_connection_that_does_not_introduce_itself_is_closed(plain_server: Server) -> None:
    began = time.monotonic()
    url = f"ws://127.0.0.1:{plain_server.port}/worker"
    with connect(url, additional_headers=TOKEN) as silent, pytest.raises(ConnectionClosed):
        silent.recv(60)
    assert time.monotonic() - began < 55
    assert plain_server.hub.hosts() == []


@pytest.mark.thorough
def test_two_hundred_connections_leave_nothing_behind(plain_server: Server) -> None:
    for number in range(200):  # more than one address may have at a time
        hand = plain_server.by_hand(f"host-{number}")
        assert isinstance(hand.hear(), Welcome)
        hand.socket.close()
    until(lambda: not any(host.left_s is None for host in plain_server.hub.hosts()))
    assert isinstance(plain_server.by_hand("last").hear(), Welcome)


def test_a_lost_worker_loses_its_runs_at_once(plain_server: Server, hand: HandWorker) -> None:
    asked = Asked(plain_server)
    take(hand)
    hand.socket.close()
    again = plain_server.by_hand()
    again.hear()
    take(again)
    again.socket.close()
    assert isinstance(asked.join().error, LostWorkerError), "it is taken once more, and not for ever"


TOKEN = {"Authorization": "Bearer token-of-a-worker-0123"}


def test_a_token_is_for_the_host_of_its_name_alone(plain_server: Server) -> None:
    other = plain_server.by_hand("hand", token=WORKER_OF_GPU7)
    refused = other.hear()
    assert isinstance(refused, Refused)
    assert refused.message == "this token is that of the host gpu7, not of hand"
    assert not refused.again
    assert not plain_server.is_there("hand")
    assert isinstance(plain_server.by_hand("gpu7", token=WORKER_OF_GPU7).hear(), Welcome)
    until(lambda: plain_server.is_there("gpu7"))

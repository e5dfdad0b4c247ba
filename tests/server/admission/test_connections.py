"""Half-sent and slow requests: the server stays there for others, and its log stays short."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from amdkernel_mcp.server.admission.connections import Connections, FewLines, raise_file_limit
from amdkernel_mcp.server.admission.limits import HEADER_BYTES
from tests.server.http_server import ANN, HttpServer, http_server

HALF = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-never-end"
HALF_BODY = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("slow"), tokens=f"{ANN} ann\n", max_connections_per_address="32") as made:
        yield made


def half_sent(server: HttpServer, stack: ExitStack, *, sent: bytes, source: str = "127.0.0.1") -> socket.socket:
    port = urlsplit(server.url).port
    assert port
    made = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0)))
    made.sendall(sent)
    return made


def open_files(server: HttpServer) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


@pytest.mark.parametrize("sent", [b"", HALF, HALF_BODY], ids=["nothing", "half a header", "half a body"])
def test_300_half_sent_requests_of_one_address_stop_no_other(server: HttpServer, sent: bytes) -> None:
    before = open_files(server)
    with ExitStack() as stack:
        for _ in range(300):
            half_sent(server, stack, sent=sent, source="127.0.0.2")
        assert server.post().status_code == 200, "another address"
        transport = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=transport, timeout=60) as same_address:
            assert same_address.get(server.url).status_code == 401, "the same address: an old half request gives way"
        assert open_files(server) - before <= 40, "the others were closed"
    assert server.log.stat().st_size < 20_000


@pytest.mark.thorough
def test_a_header_that_never_ends_is_dropped_at_its_deadline(server: HttpServer) -> None:
    with ExitStack() as stack:
        slow = half_sent(server, stack, sent=HALF)
        assert slow.recv(1) == b"", "closed without an answer; the socket's own limit is 60 s"


def test_junk_costs_few_lines_of_log(server: HttpServer) -> None:
    for _ in range(100):
        with ExitStack() as stack:
            half_sent(server, stack, sent=b"\x16\x03\x01 no http\r\n\r\n").recv(100)
    assert server.log.stat().st_size < 20_000
    assert server.post().status_code == 200


def test_an_unfinished_header_longer_than_the_limit_is_refused(server: HttpServer) -> None:
    with ExitStack() as stack:
        long = half_sent(server, stack, sent=HALF + b"-" * HEADER_BYTES)
        assert long.recv(12) == b"HTTP/1.1 400"


def test_the_file_limit_is_raised_at_the_start(server: HttpServer) -> None:
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    assert soft == min(65536, hard) or soft > 65536
    assert raise_file_limit() >= resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class Fake:
    def __init__(self, address: str, phase: str = "header") -> None:
        self.address, self.phase, self.dropped = address, phase, False
        self.limits: Connections | None = None

    def drop(self) -> None:
        self.dropped = True
        assert self.limits is not None
        self.limits.forget(self)  # type: ignore[arg-type]


def admitted(limits: Connections, *fakes: Fake) -> list[bool]:
    answers = []
    for fake in fakes:
        fake.limits = limits
        answers.append(limits.admit(fake))  # type: ignore[arg-type]
    return answers


def test_the_oldest_waiting_connection_gives_way_and_one_that_is_served_never_does() -> None:
    limits = Connections(most=10, most_per_address=2)
    served, waiting, new = Fake("a", "served"), Fake("a"), Fake("a", "served")
    assert admitted(limits, served, waiting, new) == [True, True, True]
    assert (served.dropped, waiting.dropped) == (False, True)
    assert admitted(limits, Fake("a")) == [False], "all of this address are being served"
    assert admitted(limits, Fake("b")) == [True], "another address has room"


def test_all_addresses_together_are_bounded_as_well() -> None:
    limits = Connections(most=2, most_per_address=2)
    first = Fake("a")
    assert admitted(limits, first, Fake("b"), Fake("c")) == [True, True, True]
    assert first.dropped


def test_the_log_of_connections_has_few_lines_a_minute() -> None:
    import logging

    few = FewLines()
    record = logging.LogRecord("uvicorn.error", logging.WARNING, __file__, 1, "junk", (), None)
    assert 20 <= sum(few.filter(record) for _ in range(1000)) <= 40, "a minute may end meanwhile"

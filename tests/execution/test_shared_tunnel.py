"""One ssh for each URL: what asks a machine several times opens one tunnel. The ssh here notes its start."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker import shared_tunnel as shared
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.shared_tunnel import close_unused, shared_tunnel

# Answers each connection as a Docker daemon does that answers, or hangs up where `deaf` lies in its folder.
SSH = """#!{python}
import os, socket, sys, threading
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "started"), "a") as started:
    started.write(sys.argv[-1] + "\\n")
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[sys.argv.index("-L") + 1].partition(":")[0])
listener.listen()
while True:
    connection, _ = listener.accept()
    if os.path.exists(os.path.join(here, "deaf")):
        connection.close()
        continue
    def answer(connection=connection):
        while connection.recv(65536):
            connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 24\\r\\n\\r\\n{{"ApiVersion": "1.41"}}   ')
    threading.Thread(target=answer, daemon=True).start()
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an ssh of its own: `started` has a line for each start."""
    (tmp_path / "ssh").write_text(SSH.format(python=sys.executable))
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    yield tmp_path
    close_unused()


def started(ssh: Path) -> list[str]:
    return (ssh / "started").read_text().split()


def test_one_ssh_serves_all_that_ask_one_machine_at_once_and_one_after_the_other(ssh: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for daemon in list(pool.map(lambda _: connect("ssh://gpu1"), range(4))):
            daemon.close()
    for _ in range(3):
        connect("ssh://gpu1").close()
    assert started(ssh) == ["gpu1"]
    connect("ssh://gpu2").close()
    assert started(ssh) == ["gpu1", "gpu2"]


@pytest.mark.usefixtures("ssh")
def test_the_end_of_one_use_leaves_the_others_and_the_last_one_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "LINGER_S", 0.01)
    first, second = shared_tunnel("ssh://gpu1"), shared_tunnel("ssh://gpu1")
    path = Path(first.url.removeprefix("unix://"))
    assert second.url == first.url
    first.close()
    first.close()
    assert second.is_open()
    second.close()
    while path.parent.exists():  # up to the time limit of the tests
        time.sleep(0.01)
    assert not second.is_open()


def test_a_tunnel_whose_ssh_ended_is_not_given_to_anybody_else(ssh: Path) -> None:
    first = shared_tunnel("ssh://gpu1")
    first._tunnel._process.kill()
    while first.is_open():
        time.sleep(0.01)
    again = shared_tunnel("ssh://gpu1")
    assert (again.is_open(), again.url != first.url) == (True, True)
    first.close()
    assert again.is_open()
    again.close()
    assert started(ssh) == ["gpu1", "gpu1"]


def test_a_line_that_carries_nothing_any_more_is_opened_anew_before_the_daemon_is_blamed(ssh: Path) -> None:
    connect("ssh://gpu1").close()
    (ssh / "deaf").touch()
    with pytest.raises(SandboxError, match=r"^the Docker daemon of ssh://gpu1 does not answer"):
        connect("ssh://gpu1")
    assert started(ssh) == ["gpu1", "gpu1"]
    (ssh / "deaf").unlink()
    connect("ssh://gpu1").close()
    assert started(ssh) == ["gpu1"] * 3, "a new session of ssh, with the groups that the user has now"


def test_who_waits_for_an_ssh_that_fails_gets_its_error(ssh: Path) -> None:
    (ssh / "ssh").write_text("#!/bin/sh\nsleep 0.3\necho no route >&2\nexit 255\n")

    def said(_: int) -> str:
        with pytest.raises(SandboxError) as caught:
            shared_tunnel("ssh://gpu1")
        return caught.value.message

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(said, range(3))) == {"ssh to ssh://gpu1 fails: no route"}


def test_a_process_that_ends_leaves_no_ssh_though_one_lingers(ssh: Path) -> None:
    code = f"from {connect.__module__} import connect; d = connect('ssh://gpu1'); print(d.url, flush=True); d.close()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    folder = Path(done.stdout.strip().removeprefix("unix://")).parent
    assert (folder.exists(), started(ssh)) == (False, ["gpu1"])
    assert subprocess.run(["pgrep", "-f", str(folder)], check=False, capture_output=True).returncode == 1

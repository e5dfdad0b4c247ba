"""One Docker daemon: a docker-py client for single requests, attached streams for what a job sends and receives."""

import contextlib
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.stream import Stream

if TYPE_CHECKING:
    from docker import DockerClient

    from amdkernel_mcp.execution.docker.shared_tunnel import SharedTunnel


def start_command() -> str:
    """The one command that makes a local daemon answer: join its group, install it, or start it."""
    socket_url = local_socket()
    if socket_url and not os.access(socket_url.removeprefix("unix://"), os.W_OK):
        return "sudo usermod -aG docker $USER"
    if sys.platform == "darwin":
        return "open -a Docker"
    if shutil.which("dockerd") is None and shutil.which("podman") is None:
        return "sudo apt-get install docker.io"
    if Path("/run/systemd/system").is_dir():
        return "sudo systemctl start docker"
    script = "scripts/ensure-docker.sh"  # of a checkout: it works in a container too
    return f"sudo {script}" if Path(script).exists() else "sudo service docker start"


def _start_hint() -> str:
    command = start_command()
    then = "log in again" if "usermod" in command else "`amdkernel setup`"
    return f"run `{command}`, then {then}"


class Daemon:
    """A daemon that answered. Thread-safe."""

    def __init__(self, url: str, *, tunnel: "SharedTunnel | None" = None) -> None:
        self.url = url
        self._tunnel = tunnel

    @cached_property
    def client(self) -> "DockerClient":
        """docker-py's client. Raises SandboxError when nothing answers."""
        import docker

        with docker_errors(f"the Docker daemon at {self.url} does not answer"):
            client = docker.DockerClient(base_url=self.url, timeout=120, max_pool_size=32)
        # A socket needs no proxy, and looking for one reads the environment, which another thread may be changing.
        client.api.trust_env = False
        return client

    def ping(self) -> None:
        """Raises SandboxError with the remedy when nothing answers."""
        self._connect().close()  # docker-py would leave a socket open where no daemon answers
        _ = self.client

    def is_connected(self) -> bool:
        """Whether the tunnel is open; a daemon without one is asked by the next request."""
        return self._tunnel is None or self._tunnel.is_open()

    def answers(self) -> bool:
        """Whether something listens now; asked before docker-py is, which leaves a socket open where nothing does."""
        with contextlib.suppress(SandboxError):
            if self.is_connected():
                self._connect().close()
                return True
        return False

    @cached_property
    def info(self) -> dict[str, Any]:
        """`docker info`: memory, CPUs, cgroup version, storage."""
        with docker_errors("the Docker daemon does not describe itself"):
            info: dict[str, Any] = self.client.info()
            return info

    def attach(self, container_id: str) -> Stream:
        """The streams of a container that has been created and not yet started. Raises SandboxError."""
        version = self.client.api.api_version
        path = f"/v{version}/containers/{container_id}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        connection = self._connect()
        headers = ("Host: docker", "Connection: Upgrade", "Upgrade: tcp", "Content-Length: 0")
        request = "\r\n".join([f"POST {path} HTTP/1.1", *headers, "", ""])
        try:
            connection.sendall(request.encode())
            answer = b""
            while b"\r\n\r\n" not in answer:
                piece = connection.recv(4096)
                if not piece:
                    raise ConnectionResetError("the Docker daemon hung up")
                answer += piece
        except OSError as error:
            connection.close()
            raise SandboxError(f"a container cannot be attached: {error}") from None
        head, _, rest = answer.partition(b"\r\n\r\n")
        status = head.split(b"\r\n")[0].decode(errors="replace")
        if status.split()[1:2] not in (["101"], ["200"]):
            connection.close()
            raise SandboxError(f"the Docker daemon refuses to attach a container: {status}")
        return Stream(connection, rest)

    def close(self) -> None:
        """Close the connections, and the tunnel if there is one."""
        if "client" in self.__dict__:
            self.client.close()
        if self._tunnel:
            self._tunnel.close()

    def _connect(self) -> socket.socket:
        try:
            parts = urlsplit(self.url)
            if parts.scheme == "unix":
                return _connect_unix(parts.path)
            return socket.create_connection((parts.hostname or "localhost", parts.port or 2375), timeout=30)
        except ValueError as error:  # of the port
            raise SandboxError(f"{self.url!r} is not a Docker URL: {error}", hint="write tcp://HOST:PORT") from None
        except OSError as error:
            message = f"the Docker daemon at {self.url} does not answer: {error.strerror or error}"
            raise SandboxError(message, hint=_start_hint()) from None


def connect(url: str | None) -> Daemon:
    """The daemon at `url`, else at DOCKER_HOST, else at the first local socket. Raises SandboxError with the remedy."""
    url = url or os.environ.get("DOCKER_HOST") or local_socket()
    if url is None:
        raise SandboxError("no Docker daemon: there is no socket at /var/run/docker.sock", hint=_start_hint())
    if url.startswith("ssh://"):
        return _connect_through_ssh(url)
    if url.startswith("tcp://") and os.environ.get("DOCKER_TLS_VERIFY"):
        raise SandboxError("a Docker daemon behind TLS is not supported", hint="use ssh://USER@HOST instead of tcp://")
    return _answering(Daemon(url))


def _connect_through_ssh(url: str) -> Daemon:
    from amdkernel_mcp.execution.docker.shared_tunnel import shared_tunnel
    from amdkernel_mcp.execution.docker.tunnel import plain_ssh

    while True:
        tunnel = shared_tunnel(url)
        try:
            return _answering(Daemon(tunnel.url, tunnel=tunnel))
        except SandboxError:
            # sshd accepts the tunnel, and only then opens the socket: it says nothing about the reason.
            tunnel.discard()
            if tunnel.was_open:  # the line may be cut, and ssh not know it yet
                continue
            raise SandboxError(
                f"the Docker daemon of {url} does not answer: it is not running, or your user there may not use its "
                "socket",
                hint=f"try `{plain_ssh(url)} docker info`",
            ) from None


def _answering(daemon: Daemon) -> Daemon:
    try:
        daemon.ping()
    except SandboxError:
        daemon.close()
        raise
    return daemon


def _connect_unix(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(30)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def local_socket() -> str | None:
    """The URL of the first socket that a local Docker or podman would listen on; None when there is none."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{getattr(os, 'getuid', int)()}")
    for path in (
        "/var/run/docker.sock",
        f"{runtime}/docker.sock",
        os.path.expanduser("~/.docker/run/docker.sock"),  # Docker Desktop on macOS
        os.path.expanduser("~/.docker/desktop/docker.sock"),  # and on Linux
        f"{runtime}/podman/podman.sock",
        "/run/podman/podman.sock",
    ):
        if Path(path).is_socket():
            return f"unix://{path}"
    return None


@contextlib.contextmanager
def docker_errors(what: str) -> Iterator[None]:
    """Turn what docker-py and its HTTP client raise into SandboxError, beginning with `what`."""
    import docker.errors
    import requests.exceptions
    import urllib3.exceptions

    broken = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ConnectionError)
    try:
        yield
    except (docker.errors.DockerException, *broken) as error:
        explanation = str(getattr(error, "explanation", None) or error)
        hint = None
        if "Permission denied" in explanation or "PermissionError" in explanation:
            explanation, hint = "permission denied for its socket", _start_hint()
        elif "Connection" in explanation or "No such file" in explanation:
            explanation, hint = "nothing listens at its socket", _start_hint()
        raise SandboxError(f"{what}: {explanation}", hint=hint) from None

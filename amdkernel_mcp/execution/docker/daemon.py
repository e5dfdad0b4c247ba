"""One Docker daemon: a docker-py client for single requests, attached streams for what a job sends and receives."""

import contextlib
import os
import socket
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.stream import Stream

if TYPE_CHECKING:
    from docker import DockerClient

    from amdkernel_mcp.execution.docker.tunnel import Tunnel

_START_HINT = (
    "start it with `sudo systemctl start docker`, or install it: `sudo apt-get install docker.io`; "
    "`amdkernel doctor` says more"
)


_GROUP_HINT = "`sudo usermod -aG docker $USER`, then log in again"


class Daemon:
    """A daemon that answered. Thread-safe."""

    def __init__(self, url: str, *, tunnel: "Tunnel | None" = None) -> None:
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
        parts = urlsplit(self.url)
        try:
            if parts.scheme == "unix":
                return _connect_unix(parts.path)
            return socket.create_connection((parts.hostname or "localhost", parts.port or 2375), timeout=30)
        except OSError as error:
            hint = _GROUP_HINT if isinstance(error, PermissionError) else _START_HINT
            message = f"the Docker daemon at {self.url} does not answer: {error.strerror or error}"
            raise SandboxError(message, hint=hint) from None


def connect(url: str | None) -> Daemon:
    """The daemon at `url`, else at DOCKER_HOST, else at the first local socket. Raises SandboxError with the remedy."""
    url = url or os.environ.get("DOCKER_HOST") or local_socket()
    if url is None:
        raise SandboxError("no Docker daemon: there is no socket at /var/run/docker.sock", hint=_START_HINT)
    tunnel = None
    if url.startswith("ssh://"):
        from amdkernel_mcp.execution.docker.tunnel import open_tunnel

        tunnel = open_tunnel(url)
        url = tunnel.url
    elif url.startswith("tcp://") and os.environ.get("DOCKER_TLS_VERIFY"):
        raise SandboxError("a Docker daemon behind TLS is not supported", hint="use ssh://USER@HOST instead of tcp://")
    daemon = Daemon(url, tunnel=tunnel)
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
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    for path in (
        "/var/run/docker.sock",
        f"{runtime}/docker.sock",
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

    try:
        yield
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        explanation = str(getattr(error, "explanation", None) or error)
        hint = None
        if "Permission denied" in explanation or "PermissionError" in explanation:
            explanation, hint = "permission denied for its socket", _GROUP_HINT
        elif "Connection" in explanation or "No such file" in explanation:
            explanation, hint = "nothing listens at its socket", _START_HINT
        raise SandboxError(f"{what}: {explanation}", hint=hint) from None

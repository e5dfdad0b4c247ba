"""Another machine's Docker socket, forwarded by `ssh -N -L` with the user's ssh settings, agent and jump hosts.

By hand, because docker-py's `ssh://` opens an ssh session per request and fails under load (sshd's MaxSessions);
forwarded sockets are not counted.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from amdkernel_mcp.errors import SandboxError

ANSWER_TIMEOUT_S = 10
"""For the first answer of a machine; a firewall that drops packets gives none."""
CONNECT_TIMEOUT_S = 30.0

# ssh in the foreground of a shell whose watcher sees our end of a pipe close: even a killed server leaves no tunnel and
# no socket. $0 is the socket's folder.
_UNTIL_STDIN_ENDS = 'exec 3<&0; (cat <&3 >/dev/null 2>&1; kill $$; rm -rf "$0") 2>/dev/null & exec "$@" </dev/null 3<&-'


class Tunnel:
    """An open tunnel; `url` is what a Docker client connects to."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process = process
        self._folder = folder
        self.url = f"unix://{folder / 'docker.sock'}"

    def is_open(self) -> bool:
        """Whether ssh still runs; it ends when the other machine has not answered for 45 s."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the ssh process and remove the socket."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stderr):
            if pipe:
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def ssh_command(url: str, path: Path) -> list[str]:
    """The command of the tunnel to `ssh://[USER@]HOST[:PORT][/PATH/OF/docker.sock]`. Raises SandboxError."""
    remote = _parts(url)[0].path
    forward = ["-N", "-L", f"{path}:{remote if len(remote) > 1 else '/var/run/docker.sock'}"]
    return [*_ssh(url, "ExitOnForwardFailure=yes"), *forward, *_address(url)]


def shell_command(url: str) -> list[str]:
    """The command before the words of another machine's shell. Raises SandboxError."""
    return [*_ssh(url), *_address(url)]


def _ssh(url: str, *more: str) -> list[str]:
    parts, host, _ = _parts(url)
    if not host or host.startswith("-") or (parts.username or "").startswith("-"):
        raise SandboxError(f"{url!r} names no host", hint="write ssh://USER@HOST")
    options = ["BatchMode=yes", *more, f"ConnectTimeout={ANSWER_TIMEOUT_S}"]
    options += ["ServerAliveInterval=15", "ServerAliveCountMax=3"]
    return ["ssh", "-T", "-x", "-a", *(word for option in options for word in ("-o", option))]


def _address(url: str) -> list[str]:
    parts, host, port = _parts(url)
    return [*(["-p", str(port)] if port else []), *(["-l", parts.username] if parts.username else []), "--", host]


def open_tunnel(url: str) -> Tunnel:
    """A tunnel to a daemon. Raises SandboxError with ssh's own message."""
    if shutil.which("ssh") is None:
        raise SandboxError("ssh is not installed", hint="`sudo apt-get install openssh-client`")
    folder = Path(tempfile.mkdtemp(prefix="amdkernel-ssh-"))  # for us only: whoever opens the socket is root there
    path = folder / "docker.sock"
    process = subprocess.Popen(
        ["/bin/sh", "-c", _UNTIL_STDIN_ENDS, str(folder), *ssh_command(url, path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for us: containers are removed through this tunnel afterwards
    )
    tunnel = Tunnel(process, folder)
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while not _listens(path):
        if process.poll() is not None or time.monotonic() > deadline:
            process.terminate()
            said = process.stderr.read().strip()[-300:] if process.stderr else ""
            tunnel.close()
            raise SandboxError(f"ssh to {url} fails: {said or 'no answer'}", hint=f"try `{plain_ssh(url)} true`")
        time.sleep(0.02)
    return tunnel


def _listens(path: Path) -> bool:
    """Whether a connect succeeds; the file is there a moment earlier, which a busy machine makes long."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
    return True


def plain_ssh(url: str) -> str:
    """The ssh command with which a user tries the same."""
    parts, host, port = _parts(url)
    option = f"-p {port} " if port else ""
    return f"ssh {option}{parts.username}@{host}" if parts.username else f"ssh {option}{host}"


def _parts(url: str) -> tuple[SplitResult, str, int | None]:
    """The parts, the host as it is written (ssh's own settings distinguish GPU1 and gpu1), and the port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise SandboxError(f"{url!r} names no host: {error}", hint="write ssh://USER@HOST:PORT") from None
    start = parts.netloc.lower().rfind(host)
    return parts, parts.netloc[start : start + len(host)], port

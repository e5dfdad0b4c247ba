"""A Postgres server of our own: its data in a temporary folder, its socket there too, no port."""

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.waiting import AT_MOST_S

SUPERUSER = "tests"


class PostgresServer(str):
    """The URL of its database `postgres`, without a driver."""

    __slots__ = ("_restart",)
    _restart: tuple[str, ...]

    def restart(self) -> None:
        """End it as a crash would, and start it again. Returns when it answers."""
        _run("pg_ctl", *self._restart)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # the path of a socket has 107 bytes at most
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")  # the server refuses to run as root
    data = folder / "data"
    settings = "-c listen_addresses= -c fsync=off -c shared_buffers=16MB"
    try:
        _run("initdb", "-D", str(data), "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        _run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", f"{settings} -k {folder}", "start")
        try:
            server = PostgresServer(
                f"postgresql://{SUPERUSER}@/postgres?unix_sock={quote(str(folder / '.s.PGSQL.5432'), safe='')}"
            )
            options = ("-o", f"{settings} -k {folder}")
            server._restart = ("-D", str(data), "-w", "-l", str(folder / "log"), "-m", "immediate", *options, "restart")
            yield server
        finally:
            _run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(name: str, *arguments: str) -> None:
    installed = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))  # Debian keeps them out of PATH
    found = installed[-1] if installed else shutil.which(name)
    assert found, "Postgres is missing: apt-get install postgresql"
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    ended = subprocess.run([*as_user, found, *arguments], capture_output=True, text=True, cwd="/", timeout=AT_MOST_S)
    assert ended.returncode == 0, ended.stderr

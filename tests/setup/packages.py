"""What an environment has, and what the lock says that it has."""

import json
import subprocess
from pathlib import Path

from packaging.utils import canonicalize_name

from scripts.check_lock import read_lock

# What `python -m venv` itself brings, by version of Python and distribution.
FROM_VENV = ("pip", "setuptools")


def installed(python: str, *, before: tuple[str, ...] = (), except_for: tuple[str, ...]) -> dict[str, str]:
    """Version by name of what pip lists there. before: words before the command, as `docker exec BOX`."""
    command = [*before, python, "-m", "pip", "--disable-pip-version-check", "list", "--format=json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    versions = {canonicalize_name(one["name"]): one["version"] for one in listed}
    return {name: version for name, version in versions.items() if name not in (*FROM_VENV, *except_for)}


def locked(lock: Path, python: str, *, before: tuple[str, ...] = ()) -> dict[str, str]:
    """Version by name of what the lock has for that Python."""
    script = "import json; from pip._vendor.packaging.markers import default_environment as e; print(json.dumps(e()))"
    environment = json.loads(
        subprocess.run([*before, python, "-c", script], capture_output=True, text=True, check=True).stdout
    )
    entries = [one for one in read_lock(lock) if one.marker is None or one.marker.evaluate(environment)]
    versions = {canonicalize_name(one.name): next(iter(one.specifier)).version for one in entries}
    return {name: version for name, version in versions.items() if name not in FROM_VENV}

"""Bare systems of the distributions that the README names, as containers: what it says to install, and no more."""

import hashlib
import os
import secrets
import shlex
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.debian import find_release, host_allows_expired, keyring, sources

LABEL = "amdkernel.test.setup"
UBUNTU_KEYS = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
# What the README does not name because every system has it, and apt alone is not `required` on Ubuntu.
OWN = ("apt",)
PASSED_ON = ("AMDKERNEL_DEBIAN_MIRROR", "AMDKERNEL_ALLOW_EXPIRED_RELEASE", "PIP_DEFAULT_TIMEOUT")
DOCKER_SOCKET = "/var/run/docker.sock"


class UnreachableError(Exception):
    """The distribution's packages cannot be reached from here."""


@dataclass(frozen=True)
class Archive:
    """Where apt finds a distribution, and what signs it. `date`: when the mirror's content was made."""

    suite: str
    mirror: str
    components: str
    keys: Path | None
    date: str


def debian_archive(suite: str) -> Archive:
    """A release of Debian. Raises ToolchainError where this machine's mirrors lack it."""
    release = find_release(suite, os.environ.get("AMDKERNEL_DEBIAN_MIRROR"))
    return Archive(suite, release.mirror, "main", keyring(), str(release.date))


def ubuntu_archive(suite: str, scratch: Path) -> Archive:
    """A release of Ubuntu, at TESTED_UBUNTU_MIRROR or next to this machine's mirrors. Raises UnreachableError."""
    named = os.environ.get("TESTED_UBUNTU_MIRROR")
    servers = dict.fromkeys("/".join(uri.split("/")[:3]) for uri in sources(Path("/etc/apt")))
    candidates = [named] if named else [*sources(Path("/etc/apt")), *(f"{server}/ubuntu" for server in servers)]
    for mirror in candidates:
        text = _fetch(f"{mirror}/dists/{suite}/InRelease")
        if "\nOrigin: Ubuntu\n" in text:
            date = next((line for line in text.splitlines() if line.startswith("Date: ")), "")
            return Archive(suite, mirror, "main universe", _ubuntu_keys(scratch), date)
    raise UnreachableError(f"no mirror of this machine has Ubuntu {suite}; TESTED_UBUNTU_MIRROR names one")


def root_file_system(archive: Archive, packages: list[str], cache: Path) -> Path:
    """A tar of the required packages, of apt and of `packages`. It is kept until the mirror or the list changes."""
    text = " ".join([archive.suite, archive.mirror, archive.date, *packages])
    kept = cache / f"{archive.suite}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.tar"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob(f"{archive.suite}-*"):
            old.unlink()
        part = kept.with_suffix(f".{secrets.token_hex(4)}")
        command = _mmdebstrap("minbase", [*OWN, *packages], archive.keys)
        command += [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "man", "locale")]
        command += ["--format=tar", archive.suite, str(part)]
        command += [f"deb {archive.mirror} {archive.suite} {archive.components}"]
        try:
            _run(command)
            part.rename(kept)
        finally:
            part.unlink(missing_ok=True)
    return kept


def _ubuntu_keys(scratch: Path) -> Path:
    """Ubuntu's keys: of this machine, or of Debian's package, which Debian's keys vouch for."""
    if UBUNTU_KEYS.exists():
        return UBUNTU_KEYS
    debian = debian_archive("trixie")
    command = [*_mmdebstrap("extract", ["ubuntu-keyring"], debian.keys), "--format=directory"]
    _run([*command, debian.suite, str(scratch / "keys"), f"deb {debian.mirror} {debian.suite} main"])
    return scratch / "keys" / UBUNTU_KEYS.relative_to("/")


def _mmdebstrap(variant: str, packages: list[str], keys: Path | None) -> list[str]:
    mode = "root" if os.geteuid() == 0 else "unshare"
    command = ["mmdebstrap", f"--mode={mode}", f"--variant={variant}", f"--include={','.join(packages)}"]
    # apt inside gets these as well: a mirror that this machine accepts is accepted there.
    options = ['Acquire::Languages "none"', *(['Acquire::Check-Valid-Until "false"'] if host_allows_expired() else [])]
    command += [f"--aptopt={option}" for option in options] + ["--dpkgopt=force-unsafe-io"]
    return command + ([f"--keyring={keys}"] if keys else [])


def _fetch(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read(1 << 20).decode(errors="replace")
    except (urllib.error.URLError, OSError, ValueError):
        return ""


@dataclass(frozen=True)
class Box:
    """A running container of such a system, with the checkout's repository and this machine's way to packages."""

    name: str

    @property
    def inside(self) -> tuple[str, ...]:
        """The words before a command that is to run in it."""
        return ("docker", "exec", self.name)

    def shell(self, script: str, *, exits: int = 0) -> str:
        """What the script prints, in the checkout once there is one."""
        command = [*self.inside, "bash", "-c", f"cd /checkout 2>/dev/null; {script}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == exits, f"{script} ended with {done.returncode}:\n{said[-3000:]}"
        return said


@contextmanager
def running(root: Path, bundle: Path, cache: Path) -> Iterator[Box]:
    """The system as a container. It, and its image, are removed at the end.

    bundle: what `git clone` gets. cache: keeps what pip downloaded.
    """
    cache.mkdir(parents=True, exist_ok=True)
    image = _run(["docker", "import", "--change", f"LABEL {LABEL}=1", str(root)]).strip()
    name = f"amdkernel-test-setup-{secrets.token_hex(4)}"
    try:
        command = ["docker", "run", "--detach", "--init", "--network=host", f"--name={name}", f"--label={LABEL}=1"]
        command += [f"--env=PATH={':'.join(f'{at}{kind}' for at in ('/usr/', '/') for kind in ('sbin', 'bin'))}"]
        command += [
            f"--volume={cache}:/pip-cache",
            "--env=PIP_CACHE_DIR=/pip-cache",
            f"--volume={bundle}:/checkout.bundle:ro",
            *_way_to_packages(),
        ]
        _run([*command, *_docker_of_this_machine(), image, "sleep", "infinity"])
        yield Box(name)
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True, check=False)
        _run(["docker", "rmi", "--force", image])


def _docker_of_this_machine() -> list[str]:
    host = os.environ.get("DOCKER_HOST", f"unix://{DOCKER_SOCKET}")
    if host.startswith("unix://"):
        return [f"--volume={host.removeprefix('unix://')}:{DOCKER_SOCKET}"]
    return [f"--env=DOCKER_HOST={host}"]


def _way_to_packages() -> list[str]:
    """What pip, apt and our own downloads need here: proxies, indexes, the certificates that this machine trusts."""
    given = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    for line in _run(["python3", "-m", "pip", "config", "list"]).splitlines():
        key, _, value = line.partition("=")
        option = key.rpartition(".")[2]
        words = " ".join(shlex.split(value)).replace("\\n", " ").split()
        reached = [
            word for word in words if not word.startswith(("/", "file:"))
        ]  # folders of this machine are not there
        if reached and option in ("index-url", "extra-index-url", "trusted-host", "proxy"):
            given[f"PIP_{option.replace('-', '_').upper()}"] = " ".join(reached)
    given |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    trusted = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    mounts = []
    if trusted and Path(trusted).exists():
        mounts.append(f"--volume={Path(trusted).resolve()}:/trusted.pem:ro")
        given |= {"PIP_CERT": "/trusted.pem", "SSL_CERT_FILE": "/trusted.pem"}
    return [*mounts, *(f"--env={name}={value}" for name, value in given.items())]


def _run(command: list[str]) -> str:
    assert shutil.which(command[0]), f"{command[0]} is not installed: `make setup` installs it, or apt-get does"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}"
    return done.stdout

"""The Debian root file system of the sandbox image, as a tar stream from mmdebstrap or debootstrap.

Two builds from the same mirror state give the same bytes: no file is newer than the mirror's Release files, and the
tar is sorted by name.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.debian import Release, find_release, host_allows_expired, keyring
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.image import hip_release
from amdkernel_mcp.execution.setup.downloaded import watched
from amdkernel_mcp.progress import Progress

_CHUNK = 1 << 20
_NEEDED_BYTES = 2 << 30
_DOWNLOAD_MB = (250, 300)  # of a system with HIP, of one with PyTorch
# The suites that have a HIP release besides the suite of the settings.
_FURTHER_SUITES = {"7.2": ("experimental",), "6.4": ()}


WITHOUT_MMDEBSTRAP = (
    "`sudo apt-get install mmdebstrap uidmap`; where there is no apt, Docker alone builds it: "
    "`amdkernel setup --base debian:forky-slim`"
)


@dataclass(frozen=True)
class DebianSystem:
    """What a root file system is made from: the suites (the first is the base) and what is installed.

    `hip`: the HIP release; None: PyTorch for references, and no compiler.
    """

    hip: str | None
    releases: tuple[Release, ...]

    @property
    def packages(self) -> list[str]:
        """The Debian packages to install."""
        return [*_lines("packages.txt"), *_lines(f"hip-{self.hip}.txt")] if self.hip else _lines("torch.txt")

    @property
    def left_out(self) -> list[str]:
        """Patterns of files that are not installed."""
        return [*_lines("leave-out.txt"), *([] if self.hip else _lines("torch-leave-out.txt"))]

    @property
    def main_part(self) -> str:
        """What the image is for, in words."""
        return f"HIP {self.hip}" if self.hip else "PyTorch"

    @property
    def preferences(self) -> Path | None:
        """apt's preferences file, which takes HIP from this release and everything else from the base suite."""
        return _file(f"hip-{self.hip}.pref") if self.hip else None

    @property
    def sources(self) -> list[str]:
        """The lines of apt's sources.list."""
        return [f"deb {release.mirror} {release.suite} main" for release in self.releases]

    @property
    def date(self) -> datetime:
        """When the newest of the suites was made; the start of Unix time where no Release file has a date."""
        return max((release.date for release in self.releases if release.date), default=datetime.fromtimestamp(0, UTC))

    @property
    def described(self) -> str:
        """The suites and their dates, as in `forky 2026-10-30T08:08:01Z, experimental …`."""
        return ", ".join(
            f"{release.suite} {release.date:%Y-%m-%dT%H:%M:%SZ}" if release.date else release.suite
            for release in self.releases
        )


def suites_of(settings: Settings) -> tuple[str, ...]:
    """The Debian suites that these settings take packages from; the first is the base."""
    return tuple(dict.fromkeys((settings.debian_suite, *_FURTHER_SUITES[hip_release(settings)])))


def debian_system(settings: Settings) -> DebianSystem:
    """The system that these settings ask for. Raises ToolchainError when a suite is not available or has expired."""
    hip = hip_release(settings)
    releases = tuple(find_release(suite, settings.debian_mirror) for suite in suites_of(settings))
    for release in releases:
        _refuse_expired(release, settings)
    return DebianSystem(hip, releases)


def torch_system(settings: Settings) -> DebianSystem:
    """The system with PyTorch. Raises ToolchainError when the suite is not available or has expired."""
    release = find_release(settings.debian_suite, settings.debian_mirror)
    _refuse_expired(release, settings)
    return DebianSystem(None, (release,))


def find_tool() -> str | None:
    """The tool of this machine that can make a root file system: mmdebstrap, debootstrap (as root only) or None."""
    if shutil.which("mmdebstrap"):
        return "mmdebstrap"
    return "debootstrap" if shutil.which("debootstrap") and os.geteuid() == 0 else None


@contextlib.contextmanager
def root_file_system(system: DebianSystem, progress: Progress) -> Iterator[Iterator[bytes]]:
    """An uncompressed tar of it, in pieces. Raises ToolchainError with the last lines of the tool that made it."""
    apt_options = _apt_options(system)
    scratch = Path(tempfile.mkdtemp(prefix="amdkernel-", dir=_scratch_folder()))
    try:
        tool = find_tool()
        if tool is None:
            raise ToolchainError("mmdebstrap is not installed", hint=WITHOUT_MMDEBSTRAP)
        command = mmdebstrap(system, apt_options) if tool == "mmdebstrap" else debootstrap(system, apt_options, scratch)
        progress(
            f"installing {system.main_part} from Debian {system.described}: {len(system.packages)} packages "
            f"and their dependencies (about {_DOWNLOAD_MB[system.hip is None]} MB)"
        )
        with (
            watched(scratch, _DOWNLOAD_MB[system.hip is None] * 1_000_000, progress),
            byte_stream(command, scratch, system.date, progress) as pieces,
        ):
            yield pieces
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def mmdebstrap(system: DebianSystem, apt_options: list[str]) -> list[str]:
    """The command that writes the tar to stdout; without root it uses user namespaces."""
    mode = "root" if os.geteuid() == 0 else "unshare"
    command = ["mmdebstrap", f"--mode={mode}", "--variant=essential", "--format=tar"]
    command += [f"--include={','.join(system.packages)}"]
    command += [f"--aptopt={option}" for option in apt_options]
    command += ["--dpkgopt=force-unsafe-io"]  # a failed build is thrown away, so nothing needs to be synced
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in system.left_out]
    if system.preferences:
        # mmdebstrap's `upload FILE PATH`: the file is read outside, where a user namespace cannot get in the way.
        command += [f"--setup-hook=upload {shlex.quote(str(system.preferences))} /etc/apt/preferences.d/amdkernel.pref"]
    else:  # the image has no further layer of ours, which would do this
        command += ['--customize-hook=find "$1/usr" -xdev -type f -perm /6000 -exec chmod ug-s {} +']
    if key := keyring():
        command += [f"--keyring={key}"]
    return [*command, system.releases[0].suite, "-", *system.sources]


def debootstrap(system: DebianSystem, apt_options: list[str], scratch: Path) -> list[str]:
    """The same with debootstrap for the base and the new system's own apt for the rest; needs root."""
    release = system.releases[0]
    script = Path("/usr/share/debootstrap/scripts") / release.suite
    first = ["debootstrap", "--variant=minbase", *([f"--keyring={key}"] if (key := keyring()) else [])]
    first += [release.suite, '"$root"', release.mirror]
    if not script.exists():
        first += [str(script.with_name("sid"))]
    quoted = " ".join(word if word == '"$root"' else f"'{word}'" for word in first)
    apt = " ".join(f"-o '{option.rstrip(';').replace(' ', '=', 1).replace(chr(34), '')}'" for option in apt_options)
    excludes = "\n".join(f"path-exclude={pattern}" for pattern in system.left_out)
    sources = "\n".join(system.sources)
    steps = f"""set -eu
root='{scratch}/root'
{quoted} >&2
printf '%s\\n' '{excludes}' force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/amdkernel"
printf '%s\\n' '{sources}' > "$root/etc/apt/sources.list"
{_preferences(system)}
cp -f /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
export DEBIAN_FRONTEND=noninteractive
chroot "$root" apt-get {apt} update >&2
chroot "$root" apt-get {apt} --yes install {" ".join(system.packages)} >&2
chroot "$root" apt-get clean
rm -rf "$root"/var/lib/apt/lists/* "$root"/etc/resolv.conf "$root"/usr/share/doc "$root"/usr/share/man
find "$root/usr" -xdev -type f -perm /6000 -exec chmod ug-s {{}} +
rm -rf "$root"/var/log/* "$root"/var/cache/ldconfig/aux-cache "$root"/etc/machine-id
tar -C "$root" --one-file-system --sort=name --clamp-mtime --mtime="@$SOURCE_DATE_EPOCH" -cf - .
"""
    return ["sh", "-c", steps]


def _preferences(system: DebianSystem) -> str:
    if system.preferences is None:
        return ":"
    return f'cp {shlex.quote(str(system.preferences))} "$root/etc/apt/preferences.d/amdkernel.pref"'


def _refuse_expired(release: Release, settings: Settings) -> None:
    accepted = settings.allow_expired_release or host_allows_expired()
    if release.is_expired(datetime.now(UTC)) and not accepted:
        raise ToolchainError(
            f"the Release file of Debian {release.suite} at {release.mirror} expired on "
            f"{release.valid_until:%Y-%m-%d}: the mirror is frozen or out of date",
            hint="if you trust this mirror: `AMDKERNEL_ALLOW_EXPIRED_RELEASE=1 amdkernel setup`",
        )


def _apt_options(system: DebianSystem) -> list[str]:
    options = ['Acquire::Languages "none"', 'APT::Install-Recommends "false"', 'Acquire::Retries "3"']
    if any(release.is_expired(datetime.now(UTC)) for release in system.releases):
        options.append('Acquire::Check-Valid-Until "false"')
    return options


def _scratch_folder() -> str | None:
    """Memory where there is plenty (a tmpfs saves 10 s), else the usual folder for temporary files."""
    shm = Path("/dev/shm")
    with contextlib.suppress(OSError, ValueError):
        available = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]) << 10
        if os.access(shm, os.W_OK) and min(shutil.disk_usage(shm).free, available // 2) > _NEEDED_BYTES:
            return str(shm)
    return None


@contextlib.contextmanager
def byte_stream(command: list[str], scratch: Path, date: datetime, progress: Progress) -> Iterator[Iterator[bytes]]:
    """What the command prints to stdout. A failure is raised while the pieces are read: a cut tar must not count."""
    scratch.chmod(0o755)
    environment = os.environ | {"TMPDIR": str(scratch), "SOURCE_DATE_EPOCH": str(int(date.timestamp()))}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    last: list[str] = []
    listener = threading.Thread(target=_listen, args=(process.stderr, last, progress), daemon=True)
    listener.start()

    def pieces() -> Iterator[bytes]:
        assert process.stdout is not None
        while piece := process.stdout.read(_CHUNK):
            yield piece
        listener.join()
        if process.wait() != 0:
            raise ToolchainError(f"{Path(command[0]).name} failed: {' / '.join(last[-4:])}")

    try:
        yield pieces()
    finally:
        if process.poll() is None:
            process.terminate()  # it removes what it mounted
            process.wait()
        listener.join()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


def _listen(stderr: "Iterator[bytes]", last: list[str], progress: Progress) -> None:
    for raw in stderr:
        line = raw.decode(errors="replace").strip()
        if not line:
            continue
        last.append(line)
        del last[:-20]
        if line.startswith("I: ") and "tempdir" not in line:
            progress(line.removeprefix("I: "))


def _file(name: str) -> Path:
    return folder("sandbox") / "image" / "debian" / name


def _lines(name: str) -> list[str]:
    return [line for line in _file(name).read_text().splitlines() if line and not line.startswith("#")]

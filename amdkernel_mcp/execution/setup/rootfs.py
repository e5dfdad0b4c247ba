"""The Debian root file system of the sandbox image, as a tar stream from mmdebstrap or debootstrap."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.debian import Release, find_release, host_allows_expired, keyring
from amdkernel_mcp.errors import ToolchainError

_CHUNK = 1 << 20
_NEEDED_BYTES = 2 << 30


def packages() -> list[str]:
    """The Debian packages of the image."""
    return _lines("packages.txt")


@contextlib.contextmanager
def root_file_system(settings: Settings, progress: Callable[[str], None]) -> Iterator[Iterator[bytes]]:
    """An uncompressed tar of it, in pieces. Raises ToolchainError with the last words of the tool that made it."""
    release = find_release(settings.debian_suite, settings.debian_mirror)
    apt_options = _apt_options(release, settings)
    scratch = Path(tempfile.mkdtemp(prefix="amdkernel-", dir=_scratch_folder()))
    try:
        if shutil.which("mmdebstrap"):
            command = mmdebstrap(release, apt_options)
        elif shutil.which("debootstrap") and os.geteuid() == 0:
            command = debootstrap(release, apt_options, scratch)
        else:
            raise ToolchainError("mmdebstrap is not installed", hint="`sudo apt-get install mmdebstrap uidmap`")
        progress(f"installing {len(packages())} packages of Debian {release.suite} and what they need (about 250 MB)")
        with _pieces(command, scratch, progress) as pieces:
            yield pieces
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def mmdebstrap(release: Release, apt_options: list[str]) -> list[str]:
    """The command that writes the tar to stdout; without root it uses user namespaces."""
    mode = "root" if os.geteuid() == 0 else "unshare"
    command = ["mmdebstrap", f"--mode={mode}", "--variant=essential", "--format=tar"]
    command += [f"--include={','.join(packages())}"]
    command += [f"--aptopt={option}" for option in apt_options]
    command += ["--dpkgopt=force-unsafe-io"]  # thrown away when it fails, so there is nothing to keep safe
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in _lines("leave-out.txt")]
    if key := keyring():
        command += [f"--keyring={key}"]
    return [*command, release.suite, "-", f"deb {release.mirror} {release.suite} main"]


def debootstrap(release: Release, apt_options: list[str], scratch: Path) -> list[str]:
    """The same with debootstrap for the base and the new system's own apt for the rest; needs root."""
    script = Path("/usr/share/debootstrap/scripts") / release.suite
    first = ["debootstrap", "--variant=minbase", *([f"--keyring={key}"] if (key := keyring()) else [])]
    first += [release.suite, '"$root"', release.mirror]
    if not script.exists():
        first += [str(script.with_name("sid"))]
    quoted = " ".join(word if word == '"$root"' else f"'{word}'" for word in first)
    apt = " ".join(f"-o '{option.rstrip(';').replace(' ', '=', 1).replace(chr(34), '')}'" for option in apt_options)
    excludes = "\n".join(f"path-exclude={pattern}" for pattern in _lines("leave-out.txt"))
    steps = f"""set -eu
root='{scratch}/root'
{quoted} >&2
printf '%s\\n' '{excludes}' force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/amdkernel"
cp -f /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
export DEBIAN_FRONTEND=noninteractive
chroot "$root" apt-get {apt} update >&2
chroot "$root" apt-get {apt} --yes install {" ".join(packages())} >&2
chroot "$root" apt-get clean
rm -rf "$root"/var/lib/apt/lists/* "$root"/etc/resolv.conf "$root"/usr/share/doc "$root"/usr/share/man
tar -C "$root" --one-file-system -cf - .
"""
    return ["sh", "-c", steps]


def _apt_options(release: Release, settings: Settings) -> list[str]:
    options = ['Acquire::Languages "none"', 'APT::Install-Recommends "false"', 'Acquire::Retries "3"']
    if not release.is_expired(datetime.now(UTC)):
        return options
    if not (settings.allow_expired_release or host_allows_expired()):
        raise ToolchainError(
            f"the Release file of Debian {release.suite} at {release.mirror} expired on "
            f"{release.valid_until:%Y-%m-%d}, as that of a frozen mirror does",
            hint="if you trust this mirror: `AMDKERNEL_ALLOW_EXPIRED_RELEASE=1 amdkernel setup`",
        )
    return [*options, 'Acquire::Check-Valid-Until "false"']


def _scratch_folder() -> str | None:
    """Memory where there is plenty (a tmpfs saves 10 s), else the usual folder for temporary files."""
    shm = Path("/dev/shm")
    with contextlib.suppress(OSError, ValueError):
        available = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]) << 10
        if os.access(shm, os.W_OK) and min(shutil.disk_usage(shm).free, available // 2) > _NEEDED_BYTES:
            return str(shm)
    return None


@contextlib.contextmanager
def _pieces(command: list[str], scratch: Path, progress: Callable[[str], None]) -> Iterator[Iterator[bytes]]:
    scratch.chmod(0o755)
    environment = os.environ | {"TMPDIR": str(scratch)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    assert process.stderr is not None
    last: list[str] = []
    listener = threading.Thread(target=_listen, args=(process.stderr, last, progress), daemon=True)
    listener.start()
    try:
        yield iter(lambda: process.stdout.read(_CHUNK) if process.stdout else b"", b"")
        listener.join()
        if process.wait() != 0:
            raise ToolchainError(f"{Path(command[0]).name} failed: {' / '.join(last[-4:])}")
    finally:
        if process.poll() is None:
            process.terminate()  # it removes what it mounted
            process.wait()


def _listen(stderr: "Iterator[bytes]", last: list[str], progress: Callable[[str], None]) -> None:
    for raw in stderr:
        line = raw.decode(errors="replace").strip()
        if not line:
            continue
        last.append(line)
        del last[:-20]
        if line.startswith("I: ") and "tempdir" not in line:
            progress(line.removeprefix("I: "))


def _lines(name: str) -> list[str]:
    text = (folder("sandbox") / "image" / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]

"""Fetches Debian packages by name, without installing them and without touching the host's apt.

apt runs with its own sources list, state and cache in one folder; it checks the archive's signatures as always.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from amdkernel_mcp.config import Settings
from amdkernel_mcp.debian import Release, find_release, host_allows_expired, keyring
from amdkernel_mcp.errors import DocumentationError, ToolchainError
from amdkernel_mcp.progress import Progress

UPDATE_TIMEOUT_S = 180
DOWNLOAD_TIMEOUT_S = 300
_NO_DEBIAN_HINT = "give a folder of documents instead: `amdkernel docs build --from DIR`"


@dataclass(frozen=True)
class Archive:
    """A private apt over some suites."""

    folder: Path
    suites: tuple[str, ...]

    def versions(self, packages: Sequence[str]) -> dict[tuple[str, str], str]:
        """The newest version of each package in each suite that has it, by (package, suite)."""
        listed = _apt(self.folder, ["apt-cache", "madison", *packages], timeout_s=60).stdout
        found: dict[tuple[str, str], str] = {}
        for line in listed.splitlines():
            name, version, where = (part.strip() for part in f"{line}||".split("|")[:3])
            suite = next((suite for suite in self.suites if f" {suite}/" in f" {where}"), None)
            if suite:
                found.setdefault((name, suite), version)
        return found

    def fetch(self, wanted: Sequence[tuple[str, str]]) -> None:
        """Downloads (package, version) pairs that are missing, where they are available."""
        missing = [f"{package}={version}" for package, version in wanted if not self._file(package, version)]
        into = self.folder / "packages"
        into.mkdir(exist_ok=True)
        if missing:
            _apt(self.folder, ["apt-get", "download", *missing], timeout_s=DOWNLOAD_TIMEOUT_S, cwd=into)

    def package(self, package: str, version: str) -> Path:
        """The .deb file of this version. Raises DocumentationError where it could not be fetched."""
        if found := self._file(package, version):
            return found
        # One package that is not available ends apt's whole download; alone, each other one can be fetched.
        command = ["apt-get", "download", f"{package}={version}"]
        done = _apt(self.folder, command, timeout_s=DOWNLOAD_TIMEOUT_S, cwd=self.folder / "packages")
        found = self._file(package, version)
        if done.returncode or found is None:
            raise DocumentationError(f"{package} {version} could not be fetched: {_last_line(done.stderr)}")
        return found

    def _file(self, package: str, version: str) -> Path | None:
        return next((self.folder / "packages").glob(f"{package}_{version.replace(':', '%3a')}_*.deb"), None)


def open_archive(settings: Settings, suites: Sequence[str], on_progress: Progress) -> Archive:
    """A private apt with the package lists of `suites`. A suite that is not available is reported and left out.

    Raises DocumentationError where none is left.
    """
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(program):
            raise DocumentationError(
                f"{program} is not on this host, so no Debian package can be read", hint=_NO_DEBIAN_HINT
            )
    releases = []
    for suite in dict.fromkeys(suites):
        try:
            release = find_release(suite, settings.debian_mirror)
        except ToolchainError as error:
            on_progress(f"skipped the suite {suite}: {error.message}")
            continue
        if release.is_expired(datetime.now(UTC)) and not (settings.allow_expired_release or host_allows_expired()):
            on_progress(
                f"skipped the suite {suite}: its Release file has expired; AMDKERNEL_ALLOW_EXPIRED_RELEASE=1 accepts it"
            )
            continue
        releases.append(release)
    if not releases:
        raise DocumentationError("no Debian mirror with documentation packages could be used", hint=_NO_DEBIAN_HINT)
    folder = settings.cache_dir / "docs" / "apt"
    _configure(folder, releases)
    on_progress("fetching the lists of documentation packages")
    done = _apt(folder, ["apt-get", "update"], timeout_s=UPDATE_TIMEOUT_S)
    if done.returncode:
        raise DocumentationError(f"apt cannot read the package lists: {_last_line(done.stderr)}", hint=_NO_DEBIAN_HINT)
    return Archive(folder, tuple(release.suite for release in releases))


def _configure(folder: Path, releases: Sequence[Release]) -> None:
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    key = keyring()
    signed = f" [signed-by={key}]" if key else ""
    lines = [f"deb{signed} {release.mirror} {release.suite} main\n" for release in releases]
    (folder / "sources.list").write_text("".join(lines))
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State": folder,
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
        "Acquire::PDiffs": "false",
        "Acquire::Retries": "3",
    }
    if any(release.is_expired(datetime.now(UTC)) for release in releases):
        options["Acquire::Check-Valid-Until"] = "false"
    if os.geteuid() == 0:
        # The user _apt, to whom apt would step down, may not enter a folder below a home.
        options["APT::Sandbox::User"] = "root"
    (folder / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in options.items()))


def _apt(
    folder: Path, command: Sequence[str], *, timeout_s: float, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C.UTF-8"}
    try:
        return subprocess.run(
            command, cwd=cwd or folder, env=environment, capture_output=True, text=True, check=False, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        raise DocumentationError(
            f"{' '.join(command)} took longer than {timeout_s:.0f} s", hint=_NO_DEBIAN_HINT
        ) from None


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("E: ") if lines else "no reason was given"

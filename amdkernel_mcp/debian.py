"""The Debian mirror that this host can use, the date of a suite there, and whether apt still accepts it."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from amdkernel_mcp.errors import ToolchainError

_APT = Path("/etc/apt")
# Debian's archive keys by distribution: Ubuntu ships them in the package debian-archive-keyring.
# The tools that make a root file system know where Debian is; on Ubuntu, apt does not.
_DEFAULT_MIRROR = {
    "mmdebstrap": re.compile(r"\$mirror\s*=\s*'(https?://[^']+)'"),
    "debootstrap": re.compile(r"\bDEF_MIRROR=[\"']?(https?://[^\"'\s]+)"),
}
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Release:
    """The part of a suite's Release file that matters here. `date`: when the mirror's content was made."""

    mirror: str
    suite: str
    valid_until: datetime | None
    date: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        """Whether apt would refuse it."""
        return self.valid_until is not None and now > self.valid_until


def find_release(suite: str, mirror: str | None, *, apt: Path = _APT) -> Release:
    """The suite at `mirror`, else at the first of the host's apt sources or of its tools' own mirror that has it.

    Raises ToolchainError.
    """
    candidates = (
        [mirror.rstrip("/")] if mirror else list(dict.fromkeys([*_with_neighbours(sources(apt)), *tool_mirrors()]))
    )
    if not candidates:
        raise ToolchainError("this host has no apt sources", hint="set AMDKERNEL_DEBIAN_MIRROR to a Debian mirror")
    for candidate in candidates:
        text = _fetch(f"{candidate}/dists/{suite}/InRelease")
        if text and re.search(r"^Origin: Debian$", text, re.MULTILINE):
            return Release(candidate, suite, _time(text, "Valid-Until"), _time(text, "Date"))
    where = f"{mirror} does not have" if mirror else "none of this host's apt sources has"
    raise ToolchainError(f"{where} Debian {suite}", hint="set AMDKERNEL_DEBIAN_MIRROR to a Debian mirror")


def sources(apt: Path) -> list[str]:
    """The mirror URIs in apt's sources, both formats, in order; without `cdrom:` and the like."""
    uris: list[str] = []
    for file in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        if not file.is_file() or file.suffix not in (".list", ".sources"):
            continue
        text = "\n".join(line for line in file.read_text(errors="replace").splitlines() if not line.startswith("#"))
        if file.suffix == ".sources":
            uris += [
                uri for line in re.findall(r"^URIs:(.*(?:\n[ \t].*)*)", text, re.MULTILINE) for uri in line.split()
            ]
        else:
            uris += re.findall(r"^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)", text, re.MULTILINE)
    return [uri.rstrip("/") for uri in (_mirror_list(uri) for uri in uris) if uri]


def host_allows_expired() -> bool:
    """Whether this host's own apt ignores Valid-Until: then its administrator has accepted expired files already."""
    try:
        shown = subprocess.run(
            ["apt-config", "shell", "CHECK", "Acquire::Check-Valid-Until"], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return False
    return bool(re.search(r"CHECK='(false|no|0|off)'", shown.stdout, re.IGNORECASE))


def keyring() -> Path | None:
    """The file with the keys that sign Debian's Release files; None when the host lacks it."""
    return _KEYRING if _KEYRING.exists() else None


def tool_mirrors() -> Iterable[str]:
    """The mirrors that mmdebstrap and debootstrap, scripts both, take where none is named."""
    for tool, pattern in _DEFAULT_MIRROR.items():
        script = shutil.which(tool)
        if script and (found := pattern.search(Path(script).read_text(errors="replace"))):
            yield found[1].rstrip("/")


def _mirror_list(uri: str) -> str | None:
    """An http or https URI; of `mirror+file:` the first line of the list."""
    if uri.startswith(("http://", "https://")):
        return uri
    if uri.startswith("mirror+file:"):
        try:
            lines = Path(uri.removeprefix("mirror+file:")).read_text().split()
        except OSError:
            return None
        return next((line for line in lines if line.startswith("http")), None)
    return None


def _with_neighbours(uris: Iterable[str]) -> Iterable[str]:
    """Each URI, and `/debian` on the same server: next to an Ubuntu or security mirror there is often a Debian one."""
    uris = list(uris)
    yield from uris
    for uri in uris:
        parts = urlsplit(uri)
        yield f"{parts.scheme}://{parts.netloc}/debian"


def _fetch(url: str) -> str | None:
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return str(answer.read(1 << 20).decode(errors="replace"))
    except (urllib.error.URLError, OSError, ValueError):
        return None


def _time(text: str, field: str) -> datetime | None:
    """The time in a field of a Release file; None where the file lacks it."""
    found = re.search(rf"^{field}: (.+)$", text, re.MULTILINE)
    if not found:
        return None
    return datetime.strptime(found[1].replace("UTC", "+0000"), "%a, %d %b %Y %H:%M:%S %z").astimezone(UTC)

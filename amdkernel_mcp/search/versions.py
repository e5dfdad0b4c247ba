"""Reports documentation of another version than the ROCm and LLVM that this node compiles with."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_ROCM_PAGES = "rocm.docs.amd.com"
_LLVM_PAGES = "llvm.org"
_LLVM_SOURCES = ("llvm", "clang", "amdgcn-builtins")
_VERSION = re.compile(r"~(\d{1,2})\.(\d+)|^(?:\d+:)?(?:clang |llvm |rocm |hip )?v?(\d{1,2})\.(\d+)", re.IGNORECASE)

_SNAPSHOT = re.compile(r"(?:\d+:)?(?P<major>\d+)~\+\+(?P<year>\d{4})(?P<month>0[1-9]|1[0-2])")
_PACKAGED = re.compile(r"(?:\d+:)?(\d+(?:\.\d+)+)(?:\+\w+)?-\d[\w.~+]*$")
MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip


@dataclass(frozen=True)
class Node:
    """The HIP headers and compiler of this node: versions as `6.4.43484` and `hipcc 7.0.2 with clang 21.1.8`."""

    hip: str
    compiler: str

    @property
    def rocm(self) -> tuple[int, int] | None:
        """Major and minor version of the HIP headers."""
        return version_in(self.hip)

    @property
    def clang(self) -> int | None:
        """Major version of the compiler."""
        found = re.search(r"clang (\d+)", self.compiler)
        return int(found[1]) if found else None


@dataclass(frozen=True)
class Cited:
    """A page that is cited."""

    source: str
    version: str | None
    url: str | None


def version_in(text: str | None) -> tuple[int, int] | None:
    """Major and minor of `7.2.4`, `1:23.1.4-2` or `2024-10 (~6.3)`; None for a date or nothing at all."""
    told = readable(text or "")
    if snapshot := re.match(r"LLVM (\d+),", told):
        return int(snapshot[1]), 0
    found = _VERSION.search(told)
    if not found:
        return None
    major, minor = (found[1], found[2]) if found[1] else (found[3], found[4])
    return int(major), int(minor)


def readable(version: str) -> str:
    """`LLVM 24, October 2026` for Debian's `1:24~++20261025103442+7e3c57157096-1~exp1`, `7.2.4` for `7.2.4+dfsg-1`."""
    snapshot = _SNAPSHOT.match(version)
    if snapshot:
        return f"LLVM {snapshot['major']}, {MONTHS[int(snapshot['month']) - 1]} {snapshot['year']}"
    packaged = _PACKAGED.match(version)
    return packaged[1] if packaged else version


def difference(node: Node | None, cited: Iterable[Cited]) -> str | None:
    """One sentence on the cited sources that are of another version than the node; None where there are none."""
    if node is None:
        return None
    others = dict.fromkeys(said for page in cited if (said := _other(node, page)))
    if not others:
        return None
    mine = f"HIP {node.hip} ({node.compiler})"
    return f"This node compiles against {mine}, but {', '.join(others)}: names and limits may differ."


def rocm_version(page: Cited) -> tuple[int, int] | None:
    """The version of ROCm that a page is of; None for LLVM's, which counts otherwise, and for a date."""
    of_llvm = page.source in _LLVM_SOURCES or _LLVM_PAGES in (page.url or "")
    return None if of_llvm else version_in(page.version)


def _other(node: Node, page: Cited) -> str | None:
    version = version_in(page.version)
    if version is None:
        return None
    if page.source in _LLVM_SOURCES or _LLVM_PAGES in (page.url or ""):
        return f"{page.source} is of LLVM {version[0]}" if node.clang not in (None, version[0]) else None
    if _ROCM_PAGES in (page.url or "") and node.rocm not in (None, version):
        return f"{page.source} is of ROCm {version[0]}.{version[1]}"
    return None

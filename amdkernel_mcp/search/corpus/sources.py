"""Which documents a folder holds, and the version, licence and address of each source.

A corpus folder has a `SOURCES.json` and one folder per source; any other folder is one source by itself.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.formats.builtins import parse_builtins
from amdkernel_mcp.search.formats.doxygen import parse_header
from amdkernel_mcp.search.formats.html import parse_html
from amdkernel_mcp.search.formats.markdown import parse_markdown
from amdkernel_mcp.search.formats.page import Page
from amdkernel_mcp.search.formats.rst import parse_rst
from amdkernel_mcp.search.formats.tables import parse_yaml

LARGEST_PAGE_BYTES = 8_000_000
_LICENCE = re.compile(r"^(LICEN[CS]E|COPYING|NOTICE)", re.IGNORECASE)
_SUFFIX = re.compile(r"\.(rst|md|html|htm|txt|h|hpp|hip|cuh|ya?ml)(?:\.(?:txt|in))?$", re.IGNORECASE)
_HEADERS = frozenset(("h", "hpp", "hip", "cuh"))
_BUILTINS = frozenset(("BuiltinsAMDGPU.def", "BuiltinsAMDGPU.inc"))
_TABLES = frozenset(("yaml", "yml"))
_FIELD = re.compile(r"\{\w+\}")


class SourceEntry(BaseModel):
    """One entry of a `SOURCES.json`; keys that search does not need are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str
    version: str | None = None
    date: str | None = None
    licence: str | None = None
    url: str | None = None
    commit: str | None = None
    origin: str | None = None


@dataclass(frozen=True)
class Source:
    """A named set of documents below one folder."""

    name: str
    folder: Path
    version: str | None = None
    licence: str | None = None
    url: str | None = None
    commit: str | None = None

    def address(self, path: str) -> str | None:
        """The canonical URL of a page, or None where it is not published."""
        if not self.url:
            return None
        page = _SUFFIX.sub("", path).removesuffix(".rendered")
        known = {"{page}": page, "{path}": path, "{commit}": self.commit or "main"}
        return _FIELD.sub(lambda found: known.get(found[0], found[0]), self.url)

    @property
    def has_anchors(self) -> bool:
        """Whether each of our pages is published as a page of its own, so that headings are anchors there."""
        return "{page}" in (self.url or "") or "{path}" in (self.url or "")


def sources_in(root: Path) -> list[Source]:
    """The sources below `root`. Raises DocumentationError where there is nothing to read."""
    if not root.is_dir():
        raise DocumentationError(f"{root} is not a folder", hint="give a folder, or a .tar.gz or .tar.zst of one")
    try:
        manifests = [root / "SOURCES.json", *sorted(root.glob("*/SOURCES.json"))]
        manifest = next((path for path in manifests if path.is_file()), None)
        if manifest is None:
            return [Source(root.resolve().name or "local", root)]
    except OSError as error:
        raise DocumentationError(f"{root} cannot be read: {error.strerror}") from None
    entries = _read_manifest(manifest)
    made = [_source(entry, manifest) for entry in entries]
    return [source for source in made if source.folder.is_dir()]


def _read_manifest(manifest: Path) -> list[SourceEntry]:
    try:
        listed = json.loads(manifest.read_text(encoding="utf-8"))
        if not isinstance(listed, list):
            raise DocumentationError("a list of sources was expected", file=str(manifest))
        return [SourceEntry.model_validate(entry) for entry in listed]
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentationError(f"cannot be read: {error}", file=str(manifest)) from None
    except json.JSONDecodeError as error:
        raise DocumentationError(f"no JSON: {error.msg}", file=str(manifest), line=error.lineno) from None
    except ValidationError as error:
        raise DocumentationError(f"a source lacks its name: {error.errors()[0]['msg']}", file=str(manifest)) from None


def _source(entry: SourceEntry, manifest: Path) -> Source:
    if not re.fullmatch(r"[\w.+-]+", entry.source) or entry.source.startswith("."):
        raise DocumentationError(f"{entry.source!r} cannot name a source", file=str(manifest))
    version = entry.version or entry.date or (entry.commit or "")[:12] or None
    if entry.version is None and entry.origin == "repository" and entry.date:
        version = entry.date
    return Source(entry.source, manifest.parent / entry.source, version, entry.licence, entry.url, entry.commit)


def document_paths(source: Source) -> Iterator[str]:
    """The paths of a source's documents, sorted; licence texts and links that lead out of the folder left out."""
    root = source.folder.resolve()
    for path in sorted(source.folder.rglob("*")):
        wanted = (_SUFFIX.search(path.name) or path.name in _BUILTINS) and not _LICENCE.match(path.name)
        if wanted and path.is_file() and path.resolve().is_relative_to(root):
            yield path.relative_to(source.folder).as_posix()


def read_pages(source: Source, path: str) -> Sequence[Page]:
    """The pages of one file. Raises DocumentationError for a file that is not text or too large."""
    file = source.folder / path
    try:
        size = file.stat().st_size
        if size > LARGEST_PAGE_BYTES:
            raise DocumentationError(f"{size / 1e6:.0f} MB are more than a page may have", file=str(file))
        raw = file.read_bytes()
    except OSError as error:
        raise DocumentationError(f"cannot be read: {error.strerror}", file=str(file)) from None
    if b"\0" in raw[:4096]:
        raise DocumentationError("this is not text", file=str(file))
    text = raw.decode("utf-8", errors="replace")
    if file.name in _BUILTINS:
        return parse_builtins(path, text)
    found = _SUFFIX.search(path)
    kind = found[1].lower() if found else "txt"
    if kind in _HEADERS:
        return parse_header(path, text)
    if kind in _TABLES:
        return parse_yaml(path, text)
    if kind in ("html", "htm"):
        return [parse_html(path, text)]
    return [parse_markdown(path, text) if kind == "md" else parse_rst(path, text)]

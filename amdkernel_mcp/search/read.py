"""Reads a page or a section of the documentation from the index, in pieces."""

import difflib
import re
from dataclasses import dataclass

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.quoting import QUOTED, harmless, one_line, visible
from amdkernel_mcp.results.documentation import Card, ReadResult, SectionRef
from amdkernel_mcp.search.formats.page import slug
from amdkernel_mcp.search.index.index import Index, breadcrumb, unpack_text
from amdkernel_mcp.search.versions import readable

MOST_CHARS = 100_000
CONTENTS_CHARS = 1_800
_ERROR = re.compile(r"\bhipError[A-Z]\w+")
_HEADING_MARK = re.compile(r"[\s`*]+")


@dataclass(frozen=True)
class _Part:
    """A section of the page that is read; `depth` counts the headings above it."""

    section: int
    anchor: str
    breadcrumb: tuple[str, ...]


@dataclass(frozen=True)
class _Opened:
    page: int
    source: str
    path: str
    title: str
    url: str | None
    version: str | None
    anchored: bool
    parts: tuple[_Part, ...]


def read(
    index: Index,
    ref: str,
    *,
    start: int = 0,
    max_chars: int = 5000,
    section: str | None = None,
    find: str | None = None,
) -> ReadResult:
    """`max_chars` characters of what `ref` names, from character `start` on.

    ref: `source/path`, `source/path#anchor` (a hit's ref) or a page's URL. section: a heading or anchor of that page.
    find: only the lines that hold all of these words, with the heading of their table; for long tables and lists.
    Raises DocumentationError, with the nearest that exist, for an unknown ref or section.
    """
    _check_span(start, max_chars)
    page, anchor = _open(index, ref.replace("\0", "").strip())
    parts = page.parts
    if section:
        parts = _below(parts, _named(page, section))
    elif anchor:
        parts = _below(parts, _anchored(page, anchor))
    text = _text(index, parts, whole_page=parts[0].section == page.parts[0].section)
    if find:
        text = _lines_with(text, find)
    _check_span(start, max_chars, len(text))
    stop = _stop(text, start, max_chars)
    first = parts[0]
    at = f"#{first.anchor}" if page.anchored and len(first.breadcrumb) > 1 else ""
    return ReadResult(
        ref=visible(f"{page.source}/{page.path}#{first.anchor}"),
        title=harmless(page.title),
        heading=harmless(" > ".join(first.breadcrumb)),
        source=page.source,
        path=visible(page.path),
        url=visible(f"{page.url}{at}") if page.url else None,
        version=page.version and visible(readable(page.version)),
        text=harmless(text[start:stop]),
        start=start,
        next_start=stop if stop < len(text) else None,
        total_chars=len(text),
        sections=_contents(page, parts),
        note=QUOTED,
    )


def read_card(card: Card, *, start: int = 0, max_chars: int = 5000, find: str | None = None) -> ReadResult:
    """A card as `read` gives a page; its sections are the cards that it refers to."""
    text = _lines_with(card.text, find) if find else card.text
    _check_span(start, max_chars, len(text))
    stop = _stop(text, start, max_chars)
    errors = dict.fromkeys(_ERROR.findall(text)) if card.kind == "api" else {}
    return ReadResult(
        ref=card.ref,
        title=card.title,
        heading=card.title,
        source=card.kind,
        path=card.name,
        url=card.url,
        version=card.version,
        text=text[start:stop],
        start=start,
        next_start=stop if stop < len(text) else None,
        total_chars=len(text),
        sections=[SectionRef(heading=name, ref=f"error:{name}") for name in errors],
        note=f"From {card.origin}.",
    )


def _check_span(start: int, max_chars: int, total: int | None = None) -> None:
    if start < 0 or not 1 <= max_chars <= MOST_CHARS:
        raise DocumentationError(
            f"start is {start} and max_chars is {max_chars}", hint=f"start is 0 or more, max_chars 1 to {MOST_CHARS}"
        )
    if total is not None and start and start >= total:
        raise DocumentationError(f"start is {start}, the text has {counted(total, 'character')}", hint="begin at 0")


def _open(index: Index, ref: str) -> tuple[_Opened, str]:
    """The page and the anchor that `ref` names."""
    name, _, anchor = ref.partition("#")
    if "://" in name:
        # Another version of the same page is the same page here; the result says which version it is.
        rows = index.connection.execute("SELECT id, url FROM pages WHERE url IS NOT NULL").fetchall()
        wanted = _plain_url(name)
        found = next((page for page, url in rows if _plain_url(url) == wanted), None)
    else:
        source, _, path = name.replace(":", "/", 1).partition("/")
        row = index.connection.execute("SELECT id FROM pages WHERE source = ? AND path = ?", (source, path)).fetchone()
        found = row[0] if row else _without_suffix(index, source, path) or _as_shown(index, source, path)
    if found is None:
        raise DocumentationError(f"no page is called {name[:200]!r}", hint=_close_to(index, name))
    source, path, title, url, version, anchored = index.connection.execute(
        "SELECT source, path, title, url, version, anchored FROM pages JOIN sources ON name = source WHERE id = ?",
        (found,),
    ).fetchone()
    sections = index.connection.execute("SELECT id, anchor, below FROM sections WHERE page = ? ORDER BY id", (found,))
    parts = tuple(_Part(section, mark, breadcrumb(title, below)) for section, mark, below in sections)
    return _Opened(found, source, path, title, url, version, bool(anchored), parts), anchor.strip()


def _plain_url(url: str) -> str:
    url = re.sub(r"^https?://", "", url.partition("#")[0])
    url = re.sub(r"/en/[^/]+/", "/en/", url, count=1)
    return re.sub(r"(?:\.html?|/)$", "", url).lower()


def _without_suffix(index: Index, source: str, path: str) -> int | None:
    """The page whose path is `path` but for its suffix, if there is just one."""
    rows = index.connection.execute("SELECT id, path FROM pages WHERE source = ?", (source,)).fetchall()
    found = [page for page, full in rows if full.startswith(f"{path}.")]
    return found[0] if len(found) == 1 else None


def _as_shown(index: Index, source: str, path: str) -> int | None:
    """The page whose path is shown as `path`: without invisible characters."""
    rows = index.connection.execute("SELECT id, path FROM pages WHERE source = ?", (source,))
    return next((page for page, full in rows if visible(full) == path), None)


def _close_to(index: Index, name: str) -> str:
    pages = [visible(f"{source}/{path}") for source, path in index.connection.execute("SELECT source, path FROM pages")]
    ending = name.rsplit("/", 1)[-1].lower()
    near = [page for page in pages if ending and ending in page.lower()][:5]
    near += difflib.get_close_matches(name[:200], pages, n=5, cutoff=0.5)
    shown = list(dict.fromkeys(near))[:5]
    if not shown:
        return f"a search lists refs; sources are {', '.join(index.versions)}"
    return f"did you mean {', '.join(shown)}? a search lists refs"


def _anchored(page: _Opened, anchor: str) -> _Part:
    found = next((part for part in page.parts if part.anchor == anchor or part.anchor == slug(anchor)), None)
    if found is None:
        raise DocumentationError(
            f"{page.source}/{page.path} has no section #{anchor[:100]}", hint=_available(page, anchor)
        )
    return found


def _named(page: _Opened, section: str) -> _Part:
    """The section with this heading, breadcrumb or anchor; else the first whose heading holds the words."""
    wanted = _plain(section.rsplit(" > ", 1)[-1])
    for fits in (
        lambda part: _plain(part.breadcrumb[-1]) == wanted or part.anchor == section.lstrip("#"),
        lambda part: bool(wanted) and wanted in _plain(part.breadcrumb[-1]),
    ):
        found = next((part for part in page.parts if fits(part)), None)
        if found:
            return found
    # A heading without text of its own is not a section, but those below it are.
    found = next((part for part in page.parts if wanted in map(_plain, part.breadcrumb)), None)
    if found is None:
        raise DocumentationError(f"the page has no section {section[:100]!r}", hint=_available(page, section))
    return found


def _plain(heading: str) -> str:
    return _HEADING_MARK.sub(" ", heading).strip().lower()


def _available(page: _Opened, wanted: str) -> str:
    headings = [harmless(one_line(part.breadcrumb[-1])) for part in page.parts]
    near = difflib.get_close_matches(wanted[:100], headings, n=5, cutoff=0.4)
    return f"sections are: {'; '.join(dict.fromkeys([*near, *headings[:12]]))}"


def _below(parts: tuple[_Part, ...], first: _Part) -> tuple[_Part, ...]:
    """`first` and its sub-sections."""
    at = parts.index(first)
    depth = len(first.breadcrumb)
    end = at + 1
    while end < len(parts) and parts[end].breadcrumb[:depth] == first.breadcrumb and len(parts[end].breadcrumb) > depth:
        end += 1
    return parts[at:end]


def _text(index: Index, parts: tuple[_Part, ...], *, whole_page: bool) -> str:
    """The sections' text with their headings, as Markdown."""
    blobs = index.connection.execute(
        "SELECT text FROM sections WHERE id BETWEEN ? AND ? ORDER BY id", (parts[0].section, parts[-1].section)
    )
    shown: list[str] = []
    open_headings: tuple[str, ...] = () if whole_page else parts[0].breadcrumb[:-1]
    for part, (blob,) in zip(parts, blobs, strict=True):
        for depth, heading in enumerate(part.breadcrumb):
            if part.breadcrumb[: depth + 1] != open_headings[: depth + 1]:
                shown.append(f"{'#' * min(depth + 1, 6)} {heading}")
        open_headings = part.breadcrumb
        shown.append(unpack_text(blob))
    return "\n\n".join(one for one in shown if one)


def _lines_with(text: str, find: str) -> str:
    """The lines that hold all words of `find`, and the headings and table heads above them."""
    wanted = find.lower().split()
    kept: list[str] = []
    head: list[str] = []
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.startswith("#"):
            head = [line]
        elif re.match(r"^\s*\|[\s:|-]+$", line) and at:
            head = [*head[:1], lines[at - 1], line]
        elif all(word in line.lower() for word in wanted):
            kept += [one for one in head if one not in kept[-8:]]
            kept.append(line)
    if not kept:
        raise DocumentationError(
            f"no line of this text holds {find[:100]!r}", hint="leave `find` out, or use fewer words"
        )
    return "\n".join(kept)


def _stop(text: str, start: int, max_chars: int) -> int:
    """Where the piece ends: at a line's end if one is near."""
    stop = start + max_chars
    if stop >= len(text):
        return len(text)
    newline = text.rfind("\n", start + max_chars * 3 // 4, stop)
    return newline + 1 if newline > 0 else stop


def _contents(page: _Opened, parts: tuple[_Part, ...]) -> list[SectionRef]:
    """The sections below what is read; of a section without any, those of the whole page. As many as fit."""
    shown = parts[1:] or tuple(part for part in page.parts if part is not parts[0])
    listed: list[SectionRef] = []
    left = CONTENTS_CHARS
    for part in shown:
        heading = " > ".join(part.breadcrumb[1:]) or part.breadcrumb[0]
        ref = visible(f"{page.source}/{page.path}#{part.anchor}")
        listed.append(SectionRef(heading=harmless(heading), ref=ref))
        left -= len(heading) + len(listed[-1].ref)
        if left < 0:
            break
    return listed

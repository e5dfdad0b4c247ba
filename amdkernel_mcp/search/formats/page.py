"""A page of documentation as its headings divide it: what every reader of a format makes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_NOT_IN_AN_ANCHOR = re.compile(r"[^a-z0-9]+")
_SPACE = re.compile(r"\s+")
_DOXYGEN_FAILURE = re.compile(r"^(?:Warning\n+)?doxygen\w+: (?:Cannot find|Unable to resolve) .*$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")
# Control characters, zero-width and bidirectional marks, fillers, tags, private use: unseen by us, read by a model.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff\ud800-\udfff\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
# What a terminal would obey: colours, cursor moves, titles, links. Taken out whole, or their letters would stay behind.
_TERMINAL = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,500}(?:\x07|\x1b\\\\|\x9c)"
)
_LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")


@dataclass(frozen=True)
class Section:
    """The text under one heading. `breadcrumb` begins with the title of the page; `line` counts from 1."""

    breadcrumb: tuple[str, ...]
    text: str
    labels: tuple[str, ...] = ()
    line: int = 1

    @property
    def heading(self) -> str:
        """The section's own heading."""
        return self.breadcrumb[-1]


@dataclass(frozen=True)
class Page:
    """One page; `path` is relative to the folder of its source."""

    path: str
    title: str
    sections: tuple[Section, ...]
    keywords: str = ""


@dataclass
class Block:
    """A heading and the lines below it, before headings are nested. Level 0: text before the first heading."""

    level: int
    heading: str
    line: int
    labels: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def visible(text: str) -> str:
    """`text` without control characters and invisible Unicode, with plain line ends and spaces."""
    text = _LINE_ENDS.sub("\n", _TERMINAL.sub("", text)).replace("\u00a0", " ")
    return _UNSEEN.sub("", text)


def one_line(text: str) -> str:
    """`text` with every run of white space made one space."""
    return _SPACE.sub(" ", text).strip()


def slug(heading: str) -> str:
    """The anchor that Sphinx makes of a heading."""
    return _NOT_IN_AN_ANCHOR.sub("-", heading.lower()).strip("-")


def page_from_blocks(path: str, blocks: Iterable[Block], *, title: str | None = None, keywords: str = "") -> Page:
    """The page that `blocks` make: the first heading is its title, unless `title` says otherwise."""
    made = [block for block in blocks if block.heading or any(line.strip() for line in block.lines)]
    first = next((block for block in made if block.heading), None)
    shown = title or (first.heading if first else _name_of(path))
    sections: list[Section] = []
    trail: list[Block] = []
    for block in made:
        if block.heading:
            while trail and trail[-1].level >= block.level:
                trail.pop()
            trail.append(block)
        below = [one.heading for one in trail if title is not None or one is not first]
        text = _DOXYGEN_FAILURE.sub("", "\n".join(line.rstrip() for line in block.lines))
        text = _BLANK_LINES.sub("\n\n", text).strip("\n")
        sections.append(Section((shown, *below), text, tuple(block.labels), block.line))
    return Page(path, shown, _join_preface(sections), keywords)


def _join_preface(sections: list[Section]) -> tuple[Section, ...]:
    """Text before the title belongs to the title's section."""
    if len(sections) > 1 and sections[0].breadcrumb == sections[1].breadcrumb:
        preface, head = sections[:2]
        text = "\n\n".join(part for part in (preface.text, head.text) if part)
        return (Section(head.breadcrumb, text, preface.labels + head.labels, preface.line), *sections[2:])
    return tuple(sections)


def _name_of(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".", 1)[0].replace("_", " ").replace("-", " ").strip() or path

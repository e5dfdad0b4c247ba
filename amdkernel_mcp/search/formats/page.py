"""A page of documentation as its headings divide it: what every reader of a format makes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_NOT_IN_AN_ANCHOR = re.compile(r"[^a-z0-9]+")
_DOXYGEN_FAILURE = re.compile(r"^(?:Warning\n+)?doxygen\w+: (?:Cannot find|Unable to resolve) .*$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


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

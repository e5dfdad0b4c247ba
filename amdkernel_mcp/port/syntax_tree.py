"""clang's syntax tree of the functions of a program that run on the GPU, read from the text that clang-query prints.

The text comes from a sandbox with a program of others, so it is not trusted: a line that cannot be parsed has no type
and no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MOST_NODES = 300_000
_LINE = re.compile(r"(?P<bars>(?:[|` ][ -])*)(?P<kind>[A-Za-z]\w*)(?: 0x[0-9a-f]+)?(?P<rest>.*)")
_PLACE = r"(?:[^\s<>,]+:\d+:\d+|line:\d+:\d+|col:\d+|<invalid sloc>|<scratch space>:\d+:\d+|<built-in>:\d+:\d+)"
_RANGE = re.compile(rf" <({_PLACE})(?:, ({_PLACE}))?>(?: ({_PLACE})(?= |$))?")
_TYPE = re.compile(r"'((?:[^'\\]|\\.)*)'(?::'((?:[^'\\]|\\.)*)')?")
_ADDRESS = re.compile(r" (0x[0-9a-f]+)")
_NAMED = re.compile(r"\b(\w+) (0x[0-9a-f]+) '([^']*)'")
_DECLARED = re.compile(r"(?:^|\s)(?:used |referenced |implicit |constexpr )*([A-Za-z_]\w*) '")
FUNCTIONS = ("FunctionDecl", "CXXMethodDecl")


@dataclass(slots=True)
class Node:
    """A node. `begin`, `end`: file and line, where they are written; `at`: of the name of a declaration.

    `type`: without names that stand for others. `refers`: what a DeclRefExpr names, as kind, address and name.
    """

    kind: str
    address: str
    begin: tuple[str, int]
    end: tuple[str, int]
    at: tuple[str, int]
    rest: str
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def type(self) -> str:
        """The type, after all typedefs; empty for what has none."""
        found = _TYPE.search(self.rest)
        return (found.group(2) or found.group(1)) if found else ""

    @property
    def refers(self) -> tuple[str, str, str]:
        """Of an expression that names something: its kind, address and name."""
        found = _NAMED.search(self.rest)
        return (found.group(1), found.group(2), found.group(3)) if found else ("", "", "")

    @property
    def name(self) -> str:
        """Of a declaration."""
        found = _DECLARED.search(self.rest)
        return found.group(1) if found else ""

    def walk(self) -> Iterator[Node]:
        """It and all below, in the order of the source."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


def read_trees(text: str) -> list[Node]:
    """The functions that clang-query printed; none where there are more than MOST_NODES nodes."""
    lines = text.splitlines()
    if len(lines) > MOST_NODES:
        return []
    found: list[Node] = []
    reader: _Reader | None = None
    for line in lines:
        if line.startswith(FUNCTIONS):
            reader = _Reader()
            found.append(reader.add(line, 0))
        elif reader is not None and line[:1] in ("|", "`", " ") and line.strip():
            bars = len(line) - len(line.lstrip("|`- "))
            reader.add(line[bars:], bars // 2)
        else:
            reader = None
    return found


class _Reader:
    """The state of one printed tree: clang leaves out what is as in the place before."""

    def __init__(self) -> None:
        self._file, self._line = "", 0
        self._open: list[Node] = []

    def add(self, text: str, depth: int) -> Node:
        match = _LINE.fullmatch(text)
        kind, rest = (match.group("kind"), match.group("rest")) if match else ("", "")
        address = _ADDRESS.search(text[:80])
        begin = end = at = ("", 0)
        if places := _RANGE.search(rest):
            begin = self._place(places.group(1))
            end = self._place(places.group(2)) if places.group(2) else begin
            at = self._place(places.group(3)) if places.group(3) else begin
            rest = rest[places.end() :]
        node = Node(kind, address.group(1) if address else "", begin, end, at, rest)
        del self._open[depth:]
        if self._open:
            node.parent = self._open[-1]
            node.parent.children.append(node)
        self._open.append(node)
        return node

    def _place(self, text: str) -> tuple[str, int]:
        if text == "<invalid sloc>":
            return "", 0
        if text.startswith("line:"):
            self._line = int(text.split(":")[1])
        elif not text.startswith("col:"):
            self._file, line, _ = text.rsplit(":", 2)
            self._line = int(line)
        return self._file, self._line


def own_place(node: Node, files: Sequence[str]) -> tuple[str, int]:
    """Where the source has a call or an expression: its end is written there even if its name is one of our headers."""
    for file, line in (node.at, node.begin, node.end):
        if file in files:
            return file, line
    return next((place for each in node.walk() for place in (each.begin, each.end) if place[0] in files), ("", 0))

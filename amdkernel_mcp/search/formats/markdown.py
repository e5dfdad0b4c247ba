"""Markdown and MyST to sections: markdown-it-py finds headings and fences; MyST's directives become plain text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from itertools import zip_longest

from markdown_it import MarkdownIt

from amdkernel_mcp.quoting import one_line, visible
from amdkernel_mcp.search.formats.page import Block, Page, page_from_blocks
from amdkernel_mcp.search.formats.rst import list_table, rst_lines

_FENCE = re.compile(r"^\s*(?P<marks>`{3,}|~{3,}|:{3,})\s*(?:\{(?P<name>[\w:-]+)\})?\s*(?P<argument>[^`~]*)$")
_LABEL = re.compile(r"^\(([\w:. -]+)\)=\s*$")
_META = re.compile(r"<meta\s+name=\"(?:description|keywords)\"\s+content=\"([^\"]*)\"", re.IGNORECASE)
_FRONT_META = re.compile(r"^\s*\"?(?:description|keywords)[\w =\"]*:\s*(.*)$")
_HEAD_ELEMENT = re.compile(r"<(head|style|script)\b", re.IGNORECASE)
_LAYOUT_TAG = re.compile(
    r"</?(?:div|span|p|br|hr|img|a|b|i|em|strong|center|table|tbody|thead|tr|td|th|ul|ol|li|sub|sup|details|summary"
    r"|small|picture|source|video|figure|figcaption|h[1-6]|kbd|u|font|pre|code|tt|dl|dt|dd|section|meta)\b[^>]*>",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_ROLE = re.compile(r"\{[\w:+.-]+\}`([^`<]*?)(?:\s*<[^`>]*>)?`")
_SUBSTITUTION = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")
_WIDE = re.compile(r"(?<=\S) {3,}")
_OVER_TWO_LINES = re.compile(r"\{[\w:+.-]+\}`[^`\n]{1,200}\n[^`\n]{1,200}`|<a\s*\n?\s*href[^<>]{0,400}>", re.IGNORECASE)
_SYMBOL = re.compile(r"&(?:trade|reg|copy|nbsp|amp|lt|gt|le|ge|times|micro|middot|[mn]dash|hellip);")
_HEADER_ROWS = re.compile(r"^\s*:header-rows:\s*[1-9]")
_REFERENCE = re.compile(r"\{(?:num)?ref\}`([\w:.-]+)`")
_NAMED = re.compile(
    r"^\((?P<label>[\w:.-]+)\)=\s*\n+#+ +(?P<heading>.+)$"
    r"|^\s*(?::{3,}|`{3,})\{[\w-]+\} +(?P<title>\S.*)\n\s*:name: +(?P<name>[\w:.-]+)$",
    re.MULTILINE,
)
_INSIDE_WORD = re.compile(
    r"(?<=\w)(?:</?(?:span|strong|b|i|em|u|font)\b[^>]*>)+(?=\w)"
    r"|(?:<(?:span|strong|b|i|em|u|font)\b[^>]*>)+(?=\w+(?:</(?:span|strong|b|i|em|u|font)>)+\w)",
    re.IGNORECASE,
)
_OPTION = re.compile(r"^\s*:[\w-]+:(\s.*)?$")
_CODE = frozenset(("code-block", "code", "sourcecode", "parsed-literal", "math", "code-cell", "literalinclude"))
_UNFENCED = frozenset(("toctree", "contents", "raw", "image", "figure", "include", "highlight"))
_UNTITLED = frozenset(("", "list-table", "table", "tab-set", "tab-item", "grid"))
MOST_NESTED = 20  # directives in directives; what is deeper is kept as it is written
_PARSER = MarkdownIt("commonmark", {"maxNesting": MOST_NESTED}).enable("table")
_PARSER.core.ruler.enableOnly(["normalize", "block"])


def parse_markdown(path: str, text: str) -> Page:
    """The page that the Markdown `text` holds."""
    text = _OVER_TWO_LINES.sub(lambda found: found[0].replace("\n", " "), _with_names(visible(text)))
    keywords = _META.findall(text)
    lines = _without_elements(_without_comments(text)).expandtabs(4).split("\n")
    start = _after_front_matter(lines)
    keywords += [found[1] for found in map(_FRONT_META.match, lines[:start]) if found]
    reader = _Reader(lines)
    reader.read(start, len(lines))
    for block in reader.blocks:
        block.heading = one_line(_inline(block.heading))
    return page_from_blocks(path, reader.blocks, keywords=" ".join(keywords))


def _with_names(text: str) -> str:
    """`text` with references to labels of the page as what they name; others as the label in words."""
    if "ref}`" not in text:
        return text
    names = {found["label"] or found["name"]: found["heading"] or found["title"] for found in _NAMED.finditer(text)}
    return _REFERENCE.sub(lambda found: names.get(found[1], re.sub(r"[-_:]+", " ", found[1])), text)


def _without_comments(text: str) -> str:
    """`text` with the line ends of its HTML comments alone; a comment that never ends is text."""
    kept, at = [], 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        kept += [text[at:begin], "\n" * text.count("\n", begin, end)]
        at = end + 3
    return "".join([*kept, text[at:]])


def _without_elements(text: str) -> str:
    """`text` without <head>, <style> and <script>; one that never ends is text."""
    kept, at = [], 0
    folded = text.lower() if "<" in text else ""
    ends: dict[str, int] = {}
    for found in _HEAD_ELEMENT.finditer(text):
        name = found[1].lower()
        if found.start() < at or ends.get(name) == -1:
            continue
        ends[name] = folded.find(f"</{name}>", found.end())
        if ends[name] >= 0:
            kept.append(text[at : found.start()])
            at = ends[name] + len(name) + 3
    return "".join([*kept, text[at:]])


def _after_front_matter(lines: list[str]) -> int:
    if lines and lines[0].strip() == "---":
        for at, line in enumerate(lines[1:200], 1):
            if line.strip() in ("---", "..."):
                return at + 1
    return 0


@dataclass
class _Reader:
    """Collects blocks from the lines of a page."""

    lines: list[str]
    blocks: list[Block] = field(default_factory=lambda: [Block(0, "", 1)])
    labels: list[str] = field(default_factory=list)
    depth: int = 0

    def read(self, start: int, end: int) -> None:
        """Reads the lines from `start` to before `end`: the page, or the text of a directive."""
        headings, fences = _structure(self.lines[start:end], start)
        at = start
        while at < end:
            line = self.lines[at]
            label = _LABEL.match(line)
            if at in headings:
                level, heading, after = headings[at]
                self.blocks.append(Block(level, heading, at + 1, self.labels))
                self.labels, at = [], after
            elif at in fences:
                self._fence(at, fences[at])
                at = fences[at]
            elif line.lstrip().startswith(":::"):
                at = self._colon_fence(at, end)
            else:
                if label:
                    self.labels.append(label[1])
                else:
                    self._keep(_with_symbols(_inline(_WIDE.sub("  ", line) if "   " in line else line)))
                at += 1

    def _keep(self, *lines: str) -> None:
        self.blocks[-1].lines += lines

    def _fence(self, at: int, after: int) -> None:
        """Code with its fence, a directive as text. Its text may hold headings, tables and code."""
        opening = _FENCE.match(self.lines[at])
        name = (opening["name"] or "").lower() if opening else ""
        closed = after - 1 > at and set(self.lines[after - 1].strip()) <= {"`"} | {"~"}
        last = after - 1 if closed else after
        if name == "eval-rst":
            self._keep(*rst_lines(self.lines[at + 1 : last]))
        elif name == "list-table" and opening:
            self._list_table(opening["argument"], at + 1, last)
        elif opening is None or not name or name in _CODE or self.depth >= MOST_NESTED:
            self._keep(*self.lines[at:after])
        elif name not in _UNFENCED:
            self._keep(*_title(name, opening["argument"]))
            self.depth += 1
            self.read(_after_options(self.lines, at + 1, last), last)
            self.depth -= 1

    def _list_table(self, title: str, start: int, end: int) -> None:
        """A table whose rows are items of a list, as a table."""
        body = _after_options(self.lines, start, end)
        head = any(_HEADER_ROWS.match(option) for option in self.lines[start:body])
        rows = list_table([_inline(line) for line in self.lines[body:end]], head=head)
        self._keep(*_title("list-table", title), "", *rows)

    def _colon_fence(self, at: int, end: int) -> int:
        """The same for MyST's `:::`, which is not Markdown: its lines go, and what is between is read as Markdown."""
        opening = _FENCE.match(self.lines[at])
        if opening is None:
            self._keep(self.lines[at])
            return at + 1
        name = (opening["name"] or "").lower()
        if name in _UNFENCED or name == "eval-rst" or name in _CODE:
            closing = _colons_close(self.lines, at, end, opening["marks"])
            inside = self.lines[at + 1 : closing]
            if name not in _UNFENCED:
                self._keep(*(rst_lines(inside) if name == "eval-rst" else inside))
            return closing + 1
        if name == "list-table":
            closing = _colons_close(self.lines, at, end, opening["marks"])
            self._list_table(opening["argument"], at + 1, closing)
            return closing + 1
        if name or opening["argument"]:
            self._keep(*_title(name, opening["argument"]))
            return _after_options(self.lines, at + 1, end)
        return at + 1


def _structure(lines: list[str], first: int) -> tuple[dict[int, tuple[int, str, int]], dict[int, int]]:
    """By line: (level, heading, line after it) of each heading, and the line after each fence."""
    headings: dict[int, tuple[int, str, int]] = {}
    fences: dict[int, int] = {}
    tokens = _PARSER.parse("\n".join(lines))
    for token, following in zip_longest(tokens, tokens[1:]):
        if token.map is None:
            continue
        begin, end = token.map[0] + first, token.map[1] + first
        if token.type == "heading_open" and token.level == 0 and following:
            headings[begin] = int(token.tag[1:]), following.content.replace("\n", " "), end
        elif token.type == "fence":
            fences[begin] = end
    return headings, fences


def _title(name: str, argument: str) -> Iterator[str]:
    """What remains of the opening line of a directive."""
    if name not in _UNTITLED:
        yield f"{name.capitalize()}: {_inline(argument)}".rstrip()
    elif argument and name:
        yield _inline(argument)


def _after_options(lines: list[str], at: int, end: int) -> int:
    while at < end and _OPTION.match(lines[at]):
        at += 1
    return at


def _colons_close(lines: list[str], at: int, end: int, marks: str) -> int:
    for closing in range(at + 1, end):
        line = lines[closing].strip()
        if line.startswith(marks) and not line.strip(":"):
            return closing
    return end - 1


def _with_symbols(text: str) -> str:
    """`text` with named characters as themselves. A heading keeps them as written: its anchor is made of it."""
    if "&" not in text:
        return text
    return _SYMBOL.sub(lambda found: unescape(found[0]).replace("\N{NO-BREAK SPACE}", " "), text)


def _inline(text: str) -> str:
    """`text` with links, images and roles as their text, and without lone layout tags."""
    if "<" in text:
        text = _LAYOUT_TAG.sub(" ", _INSIDE_WORD.sub("", text))
    if "[" in text:
        text = _LINK.sub(lambda found: found[1], _IMAGE.sub(lambda found: found[1], text))
    if "{" in text:
        text = _SUBSTITUTION.sub(lambda found: found[1], _ROLE.sub(lambda found: found[1], text))
    return text

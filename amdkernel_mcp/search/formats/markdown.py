"""Markdown and MyST to sections."""

import re

from amdkernel_mcp.search.formats.page import Block, Page, one_line, page_from_blocks, visible
from amdkernel_mcp.search.formats.rst import rst_lines

_ATX = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,}|:{3,})\s*(?:\{([\w:-]+)\})?\s*([^`~]*)$")
_LABEL = re.compile(r"^\(([\w:. -]+)\)=\s*$")
_META = re.compile(r"<meta\s+name=\"(?:description|keywords)\"\s+content=\"([^\"]*)\"", re.IGNORECASE)
_FRONT_META = re.compile(r"^\s*\"?(?:description|keywords)[\w =\"]*:\s*(.*)$")
_HTML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEAD_ELEMENT = re.compile(r"<(head|style|script)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
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
_OPTION = re.compile(r"^\s*:[\w-]+:(\s.*)?$")
_CODE = frozenset(("code-block", "code", "sourcecode", "parsed-literal", "math", "code-cell", "literalinclude"))
_UNFENCED = frozenset(("toctree", "contents", "raw", "image", "figure", "include", "highlight"))


def parse_markdown(path: str, text: str) -> Page:
    """The page that the Markdown `text` holds."""
    text = visible(text)
    keywords = _META.findall(text)
    text = _HEAD_ELEMENT.sub("", _HTML_COMMENT.sub(_keep_lines, text))
    lines = text.expandtabs(4).split("\n")
    start = _after_front_matter(lines)
    keywords += [found[1] for found in map(_FRONT_META.match, lines[:start]) if found]
    blocks = _blocks(lines, start)
    for block in blocks:
        block.heading = one_line(_inline(block.heading))
    return page_from_blocks(path, blocks, keywords=" ".join(keywords))


def _keep_lines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _after_front_matter(lines: list[str]) -> int:
    if lines and lines[0].strip() == "---":
        for at, line in enumerate(lines[1:200], 1):
            if line.strip() in ("---", "..."):
                return at + 1
    return 0


def _blocks(lines: list[str], at: int) -> list[Block]:
    blocks = [Block(0, "", 1)]
    labels: list[str] = []
    while at < len(lines):
        line = lines[at]
        fence, atx, label = _FENCE.match(line), _ATX.match(line), _LABEL.match(line)
        if fence:
            at = _fenced(lines, at, fence, blocks[-1].lines)
            continue
        if label:
            labels.append(label[1])
        elif atx:
            blocks.append(Block(len(atx[1]), atx[2], at + 1, labels))
            labels = []
        elif _is_setext(lines, at):
            blocks.append(Block(1 if lines[at + 1].lstrip()[0] == "=" else 2, line.strip(), at + 1, labels))
            labels = []
            at += 1
        else:
            blocks[-1].lines.append(_inline(_WIDE.sub("  ", line) if "   " in line else line))
        at += 1
    return blocks


def _is_setext(lines: list[str], at: int) -> bool:
    if at + 1 >= len(lines) or not _SETEXT.match(lines[at + 1]):
        return False
    line = lines[at]
    starts_paragraph = at == 0 or not lines[at - 1].strip()
    plain = line.strip() and not line.startswith(("    ", "|", "-", "*", ">", "#"))
    return bool(plain and starts_paragraph)


def _fenced(lines: list[str], at: int, fence: re.Match[str], kept: list[str]) -> int:
    """Keeps the fenced block at `at`: code with its fence, a directive as text. The line after it."""
    indent, marks, directive, argument = fence[1], fence[2], fence[3], fence[4]
    name = (directive or "").lower()
    if name == "eval-rst":
        end = _closing(lines, at, marks)
        kept += rst_lines(lines[at + 1 : end])
        return end + 1
    if (marks[0] == ":" or directive) and name not in _CODE:
        # The text of an admonition may hold headings, tables and code: only its fence goes.
        end = _closing(lines, at, marks)
        if name in _UNFENCED:
            return end + 1
        if name:
            lines[end] = ""
        if name not in ("", "list-table", "table", "tab-set", "tab-item", "grid"):
            kept.append(f"{indent}{name.capitalize()}: {_inline(argument)}".rstrip())
        elif argument and directive:
            kept.append(f"{indent}{_inline(argument)}")
        at += 1
        while at < len(lines) and _OPTION.match(lines[at]):
            at += 1
        return at
    end = _closing(lines, at, marks)
    kept += lines[at : end + 1]
    return end + 1


def _closing(lines: list[str], at: int, marks: str) -> int:
    for end in range(at + 1, len(lines)):
        line = lines[end].strip()
        if line.startswith(marks) and not line.strip(marks[0]):
            return end
    return len(lines) - 1


def _inline(text: str) -> str:
    """`text` with links, images and roles as their text, and without lone layout tags."""
    if "<" in text:
        text = _LAYOUT_TAG.sub(" ", text)
    if "[" in text:
        text = _LINK.sub(lambda found: found[1], _IMAGE.sub(lambda found: found[1], text))
    if "{" in text:
        text = _SUBSTITUTION.sub(lambda found: found[1], _ROLE.sub(lambda found: found[1], text))
    return text

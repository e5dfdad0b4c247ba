"""reStructuredText to sections, by hand.

By hand, because docutils drops the text of directives that only Sphinx knows and stops at the errors of half-built
pages; most of what is worth finding is in such directives.
"""

import re
import sys

from amdkernel_mcp.quoting import one_line, visible
from amdkernel_mcp.search.formats.page import Block, Page, page_from_blocks

_ADORNMENT = re.compile(r"^([!-/:-@\[-`{-~])\1+\s*$")
_DIRECTIVE = re.compile(r"^(\s*)\.\. +(?:\|([^|]+)\| +)?([A-Za-z][\w:+.-]*?)::\s*(.*)$")
_TARGET = re.compile(r"^\s*\.\. _`?([^:`]+)`?:(.*)$")
_COMMENT = re.compile(r"^(\s*)\.\.(?:\s.*)?$")
_OPTION = re.compile(r"^\s+:([\w-]+):(\s.*)?$")
_CODE_POINT = re.compile(r"(?:U\+|0x|x|\\u)([0-9A-Fa-f]{2,6})")
_RULE = "| --- |"
_ESCAPED_SPACE = re.compile(r"\\ ")
_DASHES = re.compile(r"^\s*—+\s*$")
_META = re.compile(r"^\s*:(?:description|keywords)[^:]*:\s*(.*)$")
_TABLE_RULE = re.compile(r"^\s*(?:={2,}(?:\s+=+)+|-{2,}(?:\s+-{2,})+|\+[-=+]{3,}|={4,})\s*$")
_ROW = re.compile(r"^(\s*)\* - ?(.*)$")
_CELL = re.compile(r"^(\s*)- ?(.*)$")
_ROLE = re.compile(r":[A-Za-z][\w:.+-]*:`([^`<]*?)(?:\s*<[^`>]*>)?`")
_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?")
_OVER_LINES = re.compile(
    r"(?::[A-Za-z][\w:.+-]*:`([^`<\n]+\n[^`<\n]+?)(?:\s*<[^`>]*>)?`)|(?<![`\w])`([^`<\n]+\n[^`<\n]+?)\s*<[^`>]+>`__?"
)
"""A role or a link that is broken once; a line alone does not show it."""
_REFERENCE = re.compile(r"`([^`]+)`__?(?!\w)")
_LITERAL = re.compile(r"``([^`]+)``")
_SUBSTITUTION = re.compile(r"\|([^|\s][^|\n]*?)\|_{0,2}")
_WIDE = re.compile(r"(?<=\S) {3,}")

_DROPPED_NAMES = (
    "toctree contents raw highlight index currentmodule program tabularcolumns rst-class cssclass sectionauthor "
    "default-role role include graphviz mermaid"
)
_DROPPED = frozenset(_DROPPED_NAMES.split())
_SYMBOLS = frozenset(f"doxygen{kind}" for kind in ("function", "struct", "class", "enum", "define", "typedef"))
_BARE_NAMES = (
    "code-block code sourcecode parsed-literal math list-table table csv-table image grid tab-set container "
    "literalinclude dropdown datatemplate ifconfig only"
)
_BARE = frozenset(_BARE_NAMES.split())
_SAID = {"seealso": "See also", "versionadded": "Added in version", "deprecated": "Deprecated since version"}
_NOTED = frozenset(("note", "warning", "tip", "important", "caution", "hint", "attention", "danger", *_SAID))


MOST_HEAD_LINES = 10


def parse_rst(path: str, text: str) -> Page:
    """The page that the reStructuredText `text` holds."""
    lines = visible(text).expandtabs(4).split("\n")
    blocks = _blocks(lines)
    keywords: list[str] = []
    names: dict[str, str] = {}
    for block in blocks:
        block.lines = _clean_block(block.lines, keywords, names)
    for block in blocks:
        block.heading = one_line(_inline(block.heading, names).replace("`", ""))
        block.lines = _OVER_LINES.sub(lambda found: found[1] or found[2], "\n".join(block.lines)).split("\n")
        shown = (_inline(line, names) if any(mark in line for mark in "`|\\") else line for line in block.lines)
        block.lines = [line for line in shown if not _DASHES.match(line)]
    return page_from_blocks(path, blocks, title=_operand_title(path), keywords=" ".join(keywords))


def rst_lines(lines: list[str]) -> list[str]:
    """The lines of a piece of reStructuredText as a reader of the built page sees them."""
    names: dict[str, str] = {}
    return [_inline(line, names) for line in _clean_block(lines, [], names)]


def _operand_title(path: str) -> str | None:
    """LLVM has hundreds of pages that all have the heading `vdata` or `waitcnt`: the file's name has the GPU."""
    name = path.rsplit("/", 1)[-1].split(".", 1)[0]
    return f"{name} assembler operand" if re.fullmatch(r"gfx[0-9a-f]+_\w+", name) else None


def _blocks(lines: list[str]) -> list[Block]:
    blocks = [Block(0, "", 1)]
    styles: list[tuple[str, bool]] = []
    labels: list[str] = []
    at = 0
    while at < len(lines):
        found = _heading(lines, at)
        target = _TARGET.match(lines[at])
        if found:
            heading, mark, over, end = found
            if (mark, over) not in styles:
                styles.append((mark, over))
            blocks.append(Block(styles.index((mark, over)) + 1, heading, at + 1, labels))
            labels, at = [], end
        elif target:
            if not target[2].strip():
                labels.append(target[1].strip())
            at += 1
        else:
            if lines[at].strip():
                labels = []
            blocks[-1].lines.append(lines[at])
            at += 1
    return blocks


def _heading(lines: list[str], at: int) -> tuple[str, str, bool, int] | None:
    """(heading, adornment, overlined, line after it) of the heading at `at`. Two-character headings count (`nt`)."""
    line = lines[at]
    if _ADORNMENT.match(line) and at + 2 < len(lines):
        text, under = lines[at + 1], lines[at + 2]
        fits = _ADORNMENT.match(under) and under[0] == line[0] and len(under.rstrip()) >= len(text.strip()) - 2
        if fits and text.strip() and not _ADORNMENT.match(text) and not _columns(line):
            return text.strip(), line[0], True, at + 3
        return None
    if not line.strip() or line[0].isspace() or at + 1 >= len(lines):
        return None
    under = lines[at + 1]
    if not _ADORNMENT.match(under) or (under[0] in ":." and len(under.rstrip()) < 3):
        return None
    before = lines[at - 1] if at else ""
    if before.strip() and (_TABLE_RULE.match(before) or not before[0].isspace()) and not _TARGET.match(before):
        return None
    return (line.strip(), under[0], False, at + 2) if len(under.rstrip()) >= len(line.rstrip()) - 2 else None


def _columns(line: str) -> bool:
    return " " in line.strip()


def _clean_block(lines: list[str], keywords: list[str], names: dict[str, str]) -> list[str]:
    """The lines that a reader of the built page sees. Keywords and substitutions are put aside."""
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        directive = _DIRECTIVE.match(line)
        if directive:
            at = _directive(lines, at, directive, kept, keywords, names)
        elif _COMMENT.match(line):
            at = _skip_body(lines, at)
        else:
            at = _table_row(lines, at, kept)
    return kept


def _directive(
    lines: list[str], at: int, found: re.Match[str], kept: list[str], keywords: list[str], names: dict[str, str]
) -> int:
    indent, substitution, name, argument = found[1], found[2], found[3].lower(), found[4].strip()
    if substitution:
        if name == "replace":
            names[substitution] = argument
        elif name == "unicode":
            names[substitution] = _characters(argument)
        return _skip_body(lines, at)
    if name == "meta":
        end = _skip_body(lines, at)
        keywords += [meta[1] for meta in map(_META.match, lines[at + 1 : end]) if meta]
        return end
    if name in _SYMBOLS and argument:
        # The built page has the symbol's documentation here; its name at least leads to that page.
        kept.append(f"{indent}`{argument}`")
        return _skip_body(lines, at)
    if name in _DROPPED or name.startswith(("doxygen", "auto", "datatemplate", "tab-title")):
        return _skip_body(lines, at)
    if name in _NOTED:
        kept.append(f"{indent}{_SAID.get(name, name.capitalize())}: {argument}")
    elif argument and (name not in _BARE or name in ("table", "list-table", "csv-table", "dropdown")):
        kept.append(f"{indent}{argument if name not in ('figure', 'include') else ''}")
    at += 1
    options: dict[str, str] = {}
    while at < len(lines) and (option := _OPTION.match(lines[at])):
        options[option[1]] = (option[2] or "").strip()
        at += 1
    return _head_of_table(lines, at, name, options, kept)


def list_table(lines: list[str], *, head: bool) -> list[str]:
    """The rows of a list-table, each in one line; with `head` a rule below the first."""
    kept: list[str] = []
    at = _head_of_table(lines, 0, "list-table", {"header-rows": "1" if head else "0"}, kept)
    while at < len(lines):
        at = _table_row(lines, at, kept)
    return kept


def _head_of_table(lines: list[str], at: int, name: str, options: dict[str, str], kept: list[str]) -> int:
    """Keeps the head of a list-table or csv-table with a rule below it, so that the head is not taken for a row."""
    if name == "csv-table" and options.get("header"):
        kept += [options["header"], _RULE]
    elif name == "list-table" and options.get("header-rows", "0") != "0":
        while at < len(lines) and not lines[at].strip():
            at += 1
        if at < len(lines) and _ROW.match(lines[at]):
            at = _table_row(lines, at, kept)
            kept.append(_RULE)
    return at


def _skip_body(lines: list[str], at: int) -> int:
    """The line after the indented body of what starts at `at`."""
    depth = len(lines[at]) - len(lines[at].lstrip())
    at += 1
    while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > depth):
        at += 1
    return at


def _table_row(lines: list[str], at: int, kept: list[str]) -> int:
    """Keeps the line at `at`; a row of a list-table becomes one line, a rule of a table goes."""
    line = lines[at]
    row = _ROW.match(line)
    if row:
        cells, depth = [row[2].strip()], len(row[1]) + 2
        at += 1
        while at < len(lines):
            cell = _CELL.match(lines[at])
            if cell and len(cell[1]) == depth:
                cells.append(cell[2].strip())
            elif lines[at].strip() and len(lines[at]) - len(lines[at].lstrip()) > depth:
                cells[-1] = f"{cells[-1]} {lines[at].strip()}".strip()
            elif lines[at].strip():
                break
            at += 1
        kept.append(f"| {' | '.join(cells)} |")
        return at
    if not _TABLE_RULE.match(line):
        kept.append(_narrow(line))
    elif _ends_head(lines, at):
        kept.append(_RULE)
    return at + 1


def _characters(argument: str) -> str:
    """The characters that a `unicode` directive names, without invisible ones."""
    codes = (int(code, 16) for code in _CODE_POINT.findall(argument.split("..")[0]))
    return visible("".join(chr(code) for code in codes if code <= sys.maxunicode))


def _narrow(line: str) -> str:
    return _WIDE.sub("  ", line) if "   " in line else line


def _ends_head(lines: list[str], at: int) -> bool:
    """Whether the table rule at `at` separates the head of a table from its rows."""
    line = lines[at].strip()
    if line.startswith("+"):
        return "=" in line
    for before in range(at - 1, max(at - MOST_HEAD_LINES, -1), -1):
        if lines[before].strip() == line:
            starts = before == 0 or not lines[before - 1].strip() or lines[before - 1].lstrip().startswith("..")
            follows = at + 1 < len(lines) and bool(lines[at + 1].strip())
            return starts and follows and before < at - 1
        if not lines[before].strip():
            return False
    return False


def _inline(text: str, names: dict[str, str]) -> str:
    """`text` with roles and links as their text."""
    if names:
        text = _SUBSTITUTION.sub(lambda found: names.get(found[1], found[0]), text)
    if "\\" in text:
        text = _ESCAPED_SPACE.sub("", text)
    if "`" not in text:
        return text
    text = _ROLE.sub(lambda found: found[1], text)
    text = _LITERAL.sub(lambda found: f"`{found[1]}`", text)
    text = _LINK.sub(lambda found: found[1], text)
    return _REFERENCE.sub(lambda found: found[1], text)

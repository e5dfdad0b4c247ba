"""clang's table of AMDGPU builtins (`BuiltinsAMDGPU.def` or `.inc`) to sections: prototype and target features.

The table writes a type as letters: `V4fV2hIi` is a result of four floats, two halves and a constant int as arguments.
Source of their meaning: the comment at the head of clang/Basic/Builtins.def.
"""

import re
from collections.abc import Iterator

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.quoting import visible
from amdkernel_mcp.search.formats.page import Page, Section

_PREFIX = "__builtin_amdgcn_"
_ROW = re.compile(
    r'^\s*(?:TARGET_)?BUILTIN\(\s*(__builtin_(?:amdgcn|r600)_\w+)\s*,\s*"([^"]*)"\s*,\s*"[^"]*"(?:\s*,\s*"([^"]*)")?\s*\)',
    re.MULTILINE,
)
_TYPE = re.compile(
    r"(?P<constant>I?)(?P<vector>(?:[VE]\d+)?)(?P<constant2>I?)(?P<sign>[SU]*)(?P<width>(?:LL?L?|Z|W|N|O)?)(?P<sign2>[SU]*)"
    r"(?P<kind>Q[a-z]|[vbcsihxyfdz.])(?P<after>(?:C|D|R|&|\*\d*)*)"
)
_KINDS = {
    "v": "void", "b": "bool", "c": "char", "s": "short", "i": "int", "h": "half", "x": "_Float16", "y": "__bf16",
    "f": "float", "d": "double", "z": "size_t", ".": "...", "Qb": "__amdgpu_buffer_rsrc_t", "Qt": "__amdgpu_texture_t",
}  # fmt: skip
_WIDTHS = {"L": "long", "LL": "long long", "W": "int64_t", "Z": "int32_t", "N": "int", "O": "long long"}
_SPACES = {"0": " ", "1": " global ", "3": " LDS ", "4": " constant ", "5": " private "}


def parse_builtins(path: str, text: str) -> list[Page]:
    """A page for each group of builtins, by the first word of the name. Raises DocumentationError for another file."""
    groups: dict[str, list[Section]] = {}
    text = visible(text)
    for found in _ROW.finditer(text):
        name, types, features = found[1], found[2], found[3]
        group = name.removeprefix(_PREFIX).split("_", 1)[0]
        title = f"AMDGPU clang builtins: {group}"
        said = f"```c\n{_prototype(name, types)}\n```\n\nRequired target features: {features or 'none (all targets)'}"
        line = text.count("\n", 0, found.start()) + 1
        groups.setdefault(group, []).append(Section((title, name), said, (name,), line))
    if not groups:
        raise DocumentationError("the file has no row of a table of AMDGPU builtins", file=path)
    return [Page(f"{path}/{group}", f"AMDGPU clang builtins: {group}", tuple(rows)) for group, rows in groups.items()]


def _prototype(name: str, types: str) -> str:
    """The declaration; the letters as they stand where they are of a kind that is not known here."""
    result, *arguments = list(_decoded(types)) or [None]
    if result is None or None in arguments:
        return f"{name}(...);  // {types}"
    return f"{result} {name}({', '.join(one for one in arguments if one)});"


def _decoded(types: str) -> Iterator[str | None]:
    """Each type in words; None, and no more, for letters that cannot be parsed."""
    at = 0
    while at < len(types):
        found = _TYPE.match(types, at)
        if not found:
            yield None
            return
        yield _words(found)
        at = found.end()


def _words(found: re.Match[str]) -> str:
    kind = _KINDS.get(found["kind"], found["kind"])
    sign = found["sign"] + found["sign2"]
    if found["width"] and kind == "int":
        kind = _WIDTHS.get(found["width"], kind)
    if "U" in sign:
        kind = f"u{kind}" if kind.endswith("_t") else f"unsigned {kind}"
    words = f"{kind} x {found['vector'][1:]}" if found["vector"] else kind
    for mark in re.findall(r"[CDR&]|\*\d*", found["after"]):
        if mark.startswith("*"):
            words = f"{words}{_SPACES.get(mark[1:], ' ' if mark == '*' else f' addrspace({mark[1:]}) ')}*"
        else:
            words = {"C": f"const {words}", "D": f"volatile {words}", "R": f"{words} restrict", "&": f"{words}&"}[mark]
    return f"constant {words}" if found["constant"] or found["constant2"] else words

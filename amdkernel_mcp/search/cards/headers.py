"""HIP's headers to entries: functions, types and enumerators where clang's AST finds them, macros by a pattern.

The AST says what is declared, where it stands and what its comment says; the text is the header's own, so that default
arguments and attributes read as they are written. Macros are not part of an AST.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from amdkernel_mcp.quoting import visible
from amdkernel_mcp.search.cards.declarations import Entry
from amdkernel_mcp.search.formats.builtins import parse_builtins
from amdkernel_mcp.search.formats.doxygen import description

AST_SCRIPT = Path(__file__).with_name("header_ast.py")
LONGEST_ENTRY_CHARS = 20_000
# Tables for profilers, redirections and headers for other compilers: they repeat names without saying more about them.
_LEFT_OUT = re.compile(
    r"(?:^|/)(?:hip_prof_str|hip_api_trace|hip_runtime_prof|amd_hip_runtime_pt_api|functional_grid_launch|macro_based_\w+"
    r"|hip_fp16_gcc|hip_assert)\.(?:h|hpp)$"
)
# Overloads for one narrow type come after the function's general form.
_NARROW = re.compile(r"bf16|bfloat16|fp8|fp16|cooperative")
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>(?:hip|HIP|hiprtc|HIPRTC|__launch|__AMDGCN|__HIP)\w*)"
    r"(?P<parameters>\([^)]*\))?"
    r"(?P<body>(?:[^\n\\]|\\\n|\\.)*)",
    re.MULTILINE,
)
_GUARD = re.compile(r"_H(?:PP)?_*$")
_VERSION = re.compile(r"#define\s+HIP_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_GROUP_MARK = re.compile(r"^(?:.*@ ?[{}].*|[Ee]nd (?:of )?[\w ]+\.?)$\n*", re.MULTILINE)
_CALLED = re.compile(r"(\w+)\s*\(")
_NOT_DECLARING = re.compile(r"^\s*(?:#|DEPRECATED\(|template\b)")
_MOST_COMMENT_BYTES = 8_000


class Declared(BaseModel):
    """A line of header_ast.py: what stands at `begin` to `end` of a file, in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: str
    file: str
    begin: int
    end: int
    comment: str
    value: int | None = None
    type: str = ""

    @property
    def header(self) -> str:
        """The path below include/hip, as the files are named."""
        return self.file.rpartition("/hip/")[2] if "/hip/" in self.file else self.file.rpartition("/")[2]


def entries_of(headers: Mapping[str, bytes], ast: bytes, builtins: bytes = b"") -> list[Entry]:
    """The entries of `headers` (path below include/hip to content): the lines of header_ast.py, macros, builtins."""
    declared = _by_header(ast)
    made: list[Entry] = []
    for name in sorted(headers, key=lambda one: (bool(_NARROW.search(one)), one.startswith("amd_detail/"), one)):
        if not _LEFT_OUT.search(name):
            entries = [_entry(row, headers[name]) for row in declared.get(name, ())]
            made += _one_each(entry for entry in entries if entry)
            made += _macros(name, visible(headers[name].decode("utf-8", "replace")))
    return [*made, *_builtins(builtins.decode("utf-8", "replace"))] if made else []


def hip_version(headers: Mapping[str, bytes]) -> str:
    """The version that hip_version.h states; `unknown` without one."""
    found = dict(_VERSION.findall(headers.get("hip_version.h", b"").decode("utf-8", "replace")))
    return ".".join(found[part] for part in ("MAJOR", "MINOR", "PATCH")) if len(found) == 3 else "unknown"


def _by_header(ast: bytes) -> dict[str, list[Declared]]:
    found: dict[str, list[Declared]] = {}
    for line in ast.decode("utf-8", "replace").splitlines():
        try:
            row = Declared.model_validate(json.loads(line))
        except (ValueError, ValidationError, RecursionError):
            continue  # the last line of an output that was cut short
        found.setdefault(row.header, []).append(row)
    return found


def _entry(row: Declared, header: bytes) -> Entry | None:
    """The entry; None where nothing stands at its place."""
    text = visible(header[row.begin : row.end].decode("utf-8", "replace")).strip()
    if not text or row.begin < 0:
        return None
    if row.kind == "function":
        declared = f"{_signature(text)};"
    elif row.kind == "enumerator":
        value = text.partition("=")[2].strip() or str(row.value)
        declared = f"{row.name} = {value}  // a value of {row.type}"
    else:
        declared = f"{text};"
    name = _written_name(row, declared)
    # A macro may write the name: `__MAKE_VECTOR_TYPE__(int, int)`.
    declared += "" if name in declared else f"  // declares {name}"
    said = _GROUP_MARK.sub("", visible(row.comment)).strip() or _comment_before(header, row.begin)
    shown = f"```cpp\n{declared}\n```" + (f"\n\n{said}" if said else "")
    line = header.count(b"\n", 0, row.begin) + 1
    return Entry(name, row.kind, row.header, line, shown[:LONGEST_ENTRY_CHARS])


def _written_name(row: Declared, declared: str) -> str:
    """The name that callers write: the AST has the one that a macro puts in its place (`hipGetDeviceProperties`)."""
    found = _CALLED.search(declared)
    return (
        found[1]
        if row.kind == "function"
        and found
        and row.name.startswith("hip")
        and not re.search(rf"\b{row.name}\b", declared)
        else row.name
    )


def _comment_before(header: bytes, at: int) -> str:
    """The documentation comment that directives separate from its declaration, where clang does not attach it."""
    lines = header[max(0, at - _MOST_COMMENT_BYTES) : at].decode("utf-8", "replace").split("\n")[:-1]
    while lines and (not lines[-1].strip() or _NOT_DECLARING.match(lines[-1])):
        lines.pop()
    above = "\n".join(lines).rstrip()
    begin = max(above.rfind("/**"), above.rfind("/*!"))
    if not above.endswith("*/") or begin < 0 or "*/" in above[begin:-2]:
        return ""
    return description(visible(above[begin + 3 : -2]))


def _signature(text: str) -> str:
    """A function's declaration in one line: without its body and the comments inside it."""
    depth = 0
    text = _COMMENT.sub(" ", text)
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character in "{;" and depth == 0:
            text = text[:at]
            break
    return " ".join(text.split())


def _one_each(entries: Iterator[Entry]) -> list[Entry]:
    """Overloads, and the parts of `typedef struct name {} name`, as one entry each."""
    merged: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        key = (entry.name, entry.kind)
        known = merged.get(key)
        if known is None or (entry.kind == "type" and len(entry.text) > len(known.text)):
            merged[key] = replace(entry, line=known.line) if known else entry
        elif entry.text not in known.text and entry.kind == "function":
            text = f"{known.text}\n\n{entry.text}".replace("\n```\n\n```cpp\n", "\n")
            merged[key] = replace(known, text=text[:LONGEST_ENTRY_CHARS])
    return list(merged.values())


def _builtins(table: str) -> Iterator[Entry]:
    for page in parse_builtins("clang", table) if table else ():
        for section in page.sections:
            yield Entry(section.heading, "builtin", "clang", section.line, section.text)


def _macros(header: str, text: str) -> Iterator[Entry]:
    seen = set()
    for found in _MACRO.finditer(text):
        body = found["body"].strip()
        if _GUARD.search(found["name"]) or found["name"] in seen or not (body or found["parameters"]):
            continue
        seen.add(found["name"])
        code, _, says = body.partition("///<")
        declared = f"#define {found['name']}{found['parameters'] or ''} {code.strip()}"
        above = _comment_above(text, found.start())
        said = "\n\n".join(part for part in (says.strip(), above) if part)
        line = text.count("\n", 0, found.start()) + 1
        yield Entry(found["name"], "macro", header, line, f"```cpp\n{declared}\n```" + (f"\n\n{said}" if said else ""))


def _comment_above(text: str, at: int) -> str:
    """The `//` lines directly above a definition."""
    lines: list[str] = []
    for line in reversed(text[max(0, at - 600) : at].rstrip("\n").split("\n")):
        found = re.match(r"^\s*//[/!]?<?\s?(.*)$", line)
        if not found:
            break
        lines.insert(0, found[1])
    return "\n".join(lines).strip()

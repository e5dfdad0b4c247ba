"""HIP's headers to a small file of declarations: functions, types, enumerators and macros, with their comments."""

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.formats.page import visible

FORMAT = "3"
LONGEST_ENTRY_CHARS = 20_000
# Tables for profilers, redirections and headers for other compilers: they repeat names without saying more of them.
_LEAVE = re.compile(
    r"(?:^|/)(?:hip_prof_str|hip_api_trace|hip_runtime_prof|amd_hip_runtime_pt_api|functional_grid_launch|macro_based_\w+"
    r"|hip_fp16_gcc|hip_assert)\.(?:h|hpp)$"
)
# Overloads for one narrow type, which come after the function's general form.
_NARROW = re.compile(r"bf16|bfloat16|fp8|fp16|cooperative")
_WRAPPED = re.compile(
    r"^[ \t]*((?:static|inline|__device__|__DEVICE__|__HOST_DEVICE__|__host__)[ \t]*)\n\s*", re.MULTILINE
)
_INDENT = re.compile(r"^[ \t]+(?=(?:static|inline|__device__|__DEVICE__)\b)", re.MULTILINE)
_ENUM = re.compile(r"^typedef\s+enum\b[^{;]*\{(?P<body>[^}]*)\}\s*(?P<name>\w+)\s*;", re.MULTILINE)
_ENUMERATOR = re.compile(r"^\s*(?P<name>[A-Za-z]\w+)\s*(?:=\s*(?P<value>[^,/]+?))?\s*,?\s*(?:///?<?\s*(?P<says>.*))?$")
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>(?:hip|HIP|hiprtc|HIPRTC|__launch|__AMDGCN|__HIP)\w*)"
    r"(?P<parameters>\([^)]*\))?"
    r"(?P<body>(?:[^\n\\]|\\\n|\\.)*)",
    re.MULTILINE,
)
_TYPEDEF = re.compile(
    r"^typedef\s+(?P<what>(?:struct|const|unsigned|void|int)\b[^;{}()]*?[\s*])(?P<name>hip\w+|hiprtc\w+)\s*;",
    re.MULTILINE,
)
_CALLABLE_TYPEDEF = re.compile(
    r"^typedef\s+void\s*\(\s*(?:HIPRT_CB\s*)?\*\s*(?P<name>hip\w+)\)\([^)]*\);", re.MULTILINE
)
_GUARD = re.compile(r"_H(?:PP)?_*$")
_VERSION = re.compile(r"#define\s+HIP_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)")
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    folded TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, header TEXT NOT NULL, line INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX entries_by_name ON entries (folded);
"""


@dataclass(frozen=True)
class Entry:
    """A declaration; `text` is Markdown: the declaration as code, then what its comment says."""

    name: str
    kind: str
    header: str
    line: int
    text: str


@dataclass(frozen=True)
class Declarations:
    """The open file of declarations. One thread at a time may use it."""

    connection: sqlite3.Connection
    hip_version: str
    compiler: str
    origin: str

    def named(self, word: str) -> list[Entry]:
        """The declarations of a name; those with the very spelling where there are any."""
        rows = self.connection.execute(
            "SELECT name, kind, header, line, text FROM entries WHERE folded = ? ORDER BY rowid", (word.lower(),)
        )
        found = [Entry(*row) for row in rows]
        return [one for one in found if one.name == word] or found

    def names(self) -> Iterator[str]:
        """Every name, once."""
        return (row[0] for row in self.connection.execute("SELECT DISTINCT name FROM entries"))

    def close(self) -> None:
        """Gives the file free."""
        self.connection.close()


def open_declarations(path: Path) -> Declarations | None:
    """The file at `path`; None where there is none, or one of another release."""
    if not path.is_file():
        return None
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    try:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
    except sqlite3.DatabaseError:
        meta = {}
    if meta.get("format") != FORMAT:
        connection.close()
        return None
    return Declarations(connection, meta["hip_version"], meta["compiler"], meta["origin"])


def write_declarations(
    headers: Mapping[str, bytes], path: Path, *, compiler: str, origin: str, builtins: bytes = b""
) -> int:
    """Makes the file of what `headers` (path below include/hip to content) and clang's table of builtins declare.

    Returns how many entries it has.
    A file that is there stays until the new one is whole. Raises DocumentationError where nothing is declared.
    """
    order = sorted(headers, key=lambda name: (bool(_NARROW.search(name)), name.startswith("amd_detail/"), name))
    texts = {name: visible(headers[name].decode("utf-8", "replace")) for name in order}
    entries = [entry for name, text in texts.items() if not _LEAVE.search(name) for entry in entries_of(name, text)]
    if not entries:
        raise DocumentationError(f"{origin} has no HIP headers")
    entries += _builtins(builtins.decode("utf-8", "replace"))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(partial)) as connection:
            connection.executescript(_SCHEMA)
            meta = {"format": FORMAT, "hip_version": hip_version(texts), "compiler": compiler, "origin": origin}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            rows = ((e.name.lower(), e.name, e.kind, e.header, e.line, e.text) for e in entries)
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.commit()
        os.replace(partial, path)
    except (OSError, sqlite3.OperationalError) as error:
        raise DocumentationError(f"{path} cannot be written: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return len(entries)


def _builtins(table: str) -> Iterator[Entry]:
    from amdkernel_mcp.search.formats.builtins import parse_builtins

    for page in parse_builtins("clang", table) if table else ():
        for section in page.sections:
            yield Entry(section.heading, "builtin", "clang", section.line, section.text)


def hip_version(texts: Mapping[str, str]) -> str:
    """The version that hip_version.h states; `unknown` without one."""
    found = dict(_VERSION.findall(texts.get("hip_version.h", "")))
    return ".".join(found[part] for part in ("MAJOR", "MINOR", "PATCH")) if len(found) == 3 else "unknown"


def entries_of(header: str, text: str) -> Iterator[Entry]:
    """All declarations of a header."""
    from amdkernel_mcp.search.formats.doxygen import parse_header  # only where the file is made, which is seldom

    names = set()
    if re.search(r"fp16|__clang_hip", header):
        text = _unwrapped(text)
    for page in parse_header(header, text):
        for section in page.sections:
            kind = "type" if page.path.endswith("/Types") else "function"
            if not page.path.endswith("/Error_codes"):  # an enumerator, which comes below
                names.add(section.heading)
                yield Entry(section.heading, kind, header, section.line, section.text[:LONGEST_ENTRY_CHARS])
    for entry in (*_enumerators(header, text), *_macros(header, text), *_typedefs(header, text)):
        if entry.name not in names:
            yield entry


def _unwrapped(text: str) -> str:
    """Device functions written over several indented lines, and behind macros, in the usual form."""
    while _WRAPPED.search(text):
        text = _WRAPPED.sub(r"\1 ", text)
    return _INDENT.sub("", text.replace("__DEVICE__", "__device__").replace("__HOST_DEVICE__", "__device__"))


def _enumerators(header: str, text: str) -> Iterator[Entry]:
    for enum in _ENUM.finditer(text):
        before: Entry | None = None
        for at, line in enumerate(enum["body"].split("\n")):
            more = re.match(r"^\s*///?<\s*(.*)$", line)
            if more and before:  # a comment that goes on over lines
                before = replace(before, text=f"{before.text} {more[1]}")
                continue
            if before:
                yield before
            found = _ENUMERATOR.match(line)
            before = found and _enumerator(
                found, enum["name"], header, text.count("\n", 0, enum.start("body")) + at + 1
            )
        if before:
            yield before


def _enumerator(found: re.Match[str], enum: str, header: str, line: int) -> Entry:
    value = f" = {found['value'].strip()}" if found["value"] else ""
    says = f"\n\n{found['says'].strip()}" if found["says"] else ""
    return Entry(
        found["name"], "enumerator", header, line, f"```cpp\n{found['name']}{value}  // a value of {enum}\n```{says}"
    )


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
        told = "\n\n".join(part for part in (says.strip(), above) if part)
        line = text.count("\n", 0, found.start()) + 1
        yield Entry(found["name"], "macro", header, line, f"```cpp\n{declared}\n```" + (f"\n\n{told}" if told else ""))


def _comment_above(text: str, at: int) -> str:
    """The `//` lines or the end of the doxygen comment right above a definition."""
    lines: list[str] = []
    for line in reversed(text[max(0, at - 600) : at].rstrip("\n").split("\n")):
        found = re.match(r"^\s*//[/!]?<?\s?(.*)$", line)
        if not found:
            break
        lines.insert(0, found[1])
    return "\n".join(lines).strip()


def _typedefs(header: str, text: str) -> Iterator[Entry]:
    for pattern in (_TYPEDEF, _CALLABLE_TYPEDEF):
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Entry(found["name"], "type", header, line, f"```cpp\n{' '.join(found[0].split())}\n```")

"""Runs inside the sandbox: clang's AST of HIP's headers, reduced to one line of JSON for each declaration.

`python3 header_ast.py CLANG FOLDER` parses the headers of the folder and prints the lines. The AST is some hundred
megabytes of JSON, so it is read as a stream and only declarations of the wanted headers are decoded. Needs Python's
standard library only, and imports nothing of this package: the sandbox does not have it.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

Node = dict[str, Any]
_WANTED = re.compile(r"/hip/|/__clang_hip_(?:math|libdevice_declares)\.h$")
# For other compilers, or for profilers: they repeat names, or end with an error.
_LEFT_OUT = re.compile(r"nvcc|hip_hcc|grid_launch|_prof")
_CHUNK_BYTES = 1 << 22
_BETWEEN, _AT_END = b"\n    },\n    {\n", b"\n    }\n  ]"
# clang writes a file only where it differs from the one before; `includedFrom` has a `file` too, but no `offset`.
_FILE = re.compile(rb'"offset": \d+,\n +"file": "([^"]*)"')
# The device side alone: the host side adds no name. Without function bodies the AST is half as large.
_OPTIONS = (
    "--cuda-device-only", "--offload-arch=gfx942", "-nogpulib", "-fsyntax-only", "-w", "-fparse-all-comments",
    "-DHIP_ENABLE_WARP_SYNC_BUILTINS", "-Xclang", "-skip-function-bodies", "-Xclang", "-ast-dump=json",
)  # fmt: skip
_SAID = {"return": "Returns", "returns": "Returns", "retval": "Returns", "see": "See", "sa": "See"}
_WITHOUT_TEXT = frozenset(("ingroup", "addtogroup", "defgroup", "name", "file", "page", "section", "internal", "cond"))


def main(clang: str, folder: str) -> None:
    """Prints the declarations of the headers in `folder`, which is called `hip`; none where clang cannot run."""
    headers = sorted(path.name for path in Path(folder).glob("*.h") if not _LEFT_OUT.search(path.name))
    source = "".join(f"#include <hip/{name}>\n" for name in ("hip_runtime.h", *headers))
    # The folder is a copy, named by -I: clang keeps no comments of headers in the system's folders.
    command = [clang, "-x", "hip", *_OPTIONS, "-I", str(Path(folder).parent), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parser:
        assert parser.stdin
        assert parser.stdout
        parser.stdin.write(source.encode())
        parser.stdin.close()
        for row in rows_of(parser.stdout):
            sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


def rows_of(dump: IO[bytes]) -> Iterator[Node]:
    """The declarations of the wanted headers in an AST dump: name, kind, file, begin, end, comment, type or value."""
    file = ""
    for part in _top_level(dump):
        files = [found.decode("utf-8", "replace") for found in _FILE.findall(part)]
        if any(map(_WANTED.search, (file, *files))):
            node = json.loads(b"{" + part + b"}")
            _write_files(node, file)
            yield from _rows(node)
        file = files[-1] if files else file


def _top_level(dump: IO[bytes]) -> Iterator[bytes]:
    """The JSON of each declaration of the file, without its braces; the first, a type of the compiler's, left out."""
    pieces: list[bytes] = []
    rest = b""
    while chunk := dump.read(_CHUNK_BYTES):
        # A separator may lie across two chunks.
        *whole, rest = (rest + chunk).split(_BETWEEN)
        pieces += whole
        if pieces:
            yield from pieces[1:] if pieces[0].startswith(b"{") else pieces
            pieces.clear()
    yield rest.rpartition(_AT_END)[0]


def _write_files(node: Node, file: str) -> str:
    """Writes into each location the file that clang left out as the same; the last file."""
    if "offset" in node:
        return str(node.setdefault("file", file))
    for value in node.values():
        if isinstance(value, dict):
            file = _write_files(value, file)
        elif isinstance(value, list):
            for one in value:
                file = _write_files(one, file) if isinstance(one, dict) else file
    return file


def _rows(node: Node) -> Iterator[Node]:
    kind, inner = node.get("kind", ""), node.get("inner", [])
    if node.get("isImplicit"):
        return
    if kind in ("LinkageSpecDecl", "NamespaceDecl"):
        for one in inner:
            yield from _rows(one)
    elif kind in ("FunctionDecl", "FunctionTemplateDecl"):
        yield from _row(node, "function")
    elif kind in ("CXXRecordDecl", "ClassTemplateDecl", "TypedefDecl", "TypeAliasDecl", "TypeAliasTemplateDecl"):
        # A forward declaration says nothing; a class template keeps its class inside.
        whole = kind not in ("CXXRecordDecl", "ClassTemplateDecl") or any(
            one.get("completeDefinition") for one in [node, *inner]
        )
        yield from _row(node, "type") if whole else ()
    elif kind == "EnumDecl":
        yield from _row(node, "type")
        yield from _enumerators(inner)


def _row(node: Node, kind: str, **more: object) -> Iterator[Node]:
    begin, end = (_written(node.get("range", {}).get(side, {})) for side in ("begin", "end"))
    file = begin.get("file", "")
    name = node.get("name", "")
    if name and _WANTED.search(file) and file == end.get("file") and not name.startswith(("operator", "<")):
        comment = next((one for one in _inner_of_template(node) if one.get("kind") == "FullComment"), {})
        stop = end["offset"] + end.get("tokLen", 0)
        said = comment_text(comment)
        yield {"name": name, "kind": kind, "file": file, "begin": begin["offset"], "end": stop, "comment": said} | more


def _inner_of_template(node: Node) -> Iterator[Node]:
    for one in node.get("inner", []):
        yield one
        if one.get("kind") in ("FunctionDecl", "CXXRecordDecl"):
            yield from one.get("inner", [])


def _enumerators(constants: list[Node]) -> Iterator[Node]:
    value = -1
    for one in constants:
        if one.get("kind") == "EnumConstantDecl":
            value = _value_in(one, value + 1)
            yield from _row(one, "enumerator", value=value, type=one.get("type", {}).get("qualType", ""))


def _value_in(node: Node, otherwise: int) -> int:
    """The value of an enumerator: clang computes it where one is given, else it follows the one before."""
    for one in node.get("inner", []):
        if one.get("kind") == "ConstantExpr" and "value" in one:
            return int(one["value"])
        if one.get("kind") != "FullComment":
            found = _value_in(one, otherwise)
            if found != otherwise:
                return found
    return otherwise


def _written(location: Node) -> Node:
    """Where the text stands: of a macro's expansion the place of the macro's name."""
    expansion: Node = location.get("expansionLoc", location)
    return expansion


def comment_text(comment: Node) -> str:
    """A documentation comment as plain lines: parameters as a list, returns and see-also as sentences."""
    lines: list[str] = []
    for one in comment.get("inner", []):
        text, kind, name = _text(one), one.get("kind"), one.get("name", "")
        if kind == "ParamCommandComment":
            way = f"[{one.get('direction', 'in')}] " if one.get("explicit") else ""
            lines.append(f"- param {way}{one.get('param', '')} {text}".rstrip())
        elif kind == "TParamCommandComment":
            lines.append(f"- tparam {one.get('param', '')} {text}".rstrip())
        elif kind == "BlockCommandComment":
            said = _SAID.get(name, "" if name in ("brief", "details") else name.capitalize())
            lines += [] if name in _WITHOUT_TEXT else ["", f"{said}: {text}" if said else text]
        elif kind == "VerbatimBlockComment":
            lines += ["", "```", *(str(row.get("text", "")) for row in one.get("inner", [])), "```"]
        elif text and kind != "VerbatimLineComment":
            lines += ["", text]
    return "\n".join(lines).strip()


def _text(node: Node) -> str:
    """The words below a node of a comment."""
    if "text" in node:
        return str(node["text"]).strip()
    own = " ".join(map(str, node.get("args", []))) if node.get("kind") == "InlineCommandComment" else ""
    parts = [own, *(_text(one) for one in node.get("inner", []))]
    return " ".join(part for part in parts if part)


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)
    main(*sys.argv[1:3])

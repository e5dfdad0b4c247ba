#!/usr/bin/env python3
"""Prints each `#include` of sandbox/emulator that breaks a rule, with file and line; exits 1 if there is one.

    python scripts/check_includes.py [FOLDER]

Rules: a room includes only the rooms that ALLOWED names; no circle of files (a source and its header are one; the rooms
in MAY_CIRCLE excepted); a function is declared in the header of the file that defines it; nothing in the sandbox knows
amdkernel_mcp.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

OVERLAP = "checks/races/overlap.h"  # races between streams: the one header that hip takes from the checks
CLOCK = "hip/clock/clock.h"
FACE = "emulator.h"  # the public face: every room may include it
# The rooms, or single headers, that a room may include besides itself and the face.
ALLOWED: Mapping[str, tuple[str, ...]] = {
    FACE: ("model/counter_names.h",),
    "memory": (),
    "host": (),
    "machine": ("memory", "host", "checks/observers.h", "checks/findings.h", "model/counters.h", "model/shapes.h"),
    "model": ("machine", "run/kernel_code.h"),
    "isa": ("machine", "memory", "checks", "host"),
    "decode": ("machine", "isa", "model/shapes.h", "native/compile.h"),
    "native": ("machine", "isa/control.h"),
    "checks": ("machine", "memory", "host", "decode/operands.h", "isa/convert.h", "model", "run/kernel_code.h"),
    "timing": ("machine", "model", "run/kernel_code.h"),
    "run": ("machine", "memory", "host", "isa/gws.h", "model", "checks", "timing"),
    "hip/runtime": (),
    "hip/clock": ("hip/runtime",),
    "hip/code": ("hip/runtime", "hip/devices", "hip/streams", "hip/work", "hip/memory"),
    "hip/devices": ("hip/runtime", "hip/launch", "hip/streams"),
    "hip/memory": ("hip/runtime", "hip/streams", "hip/report"),
    "hip/streams": ("hip/runtime", "hip/work", "hip/graphs", "hip/devices", "hip/launch", "hip/memory", CLOCK, OVERLAP),
    "hip/work": ("hip/runtime", "hip/launch", "hip/copies", "hip/memory", "hip/code", "hip/report", CLOCK, OVERLAP),
    "hip/copies": ("hip/runtime", "hip/work", "hip/memory", "hip/streams", "hip/report", "hip/code"),
    "hip/launch": ("hip/runtime", "hip/code", "hip/streams", "hip/devices", "hip/report", "hip/work", CLOCK),
    "hip/graphs": ("hip/runtime", "hip/code", "hip/copies", "hip/launch", "hip/memory", "hip/streams", "hip/work"),
    "hip/report": ("hip/runtime", "hip/code", OVERLAP),
    "hip/aliases": ("hip/runtime", "hip/code", "hip/streams"),
    "coverage": ("machine", "isa/rows.h", "hip/code"),
    "fuzz": ("coverage", "hip"),
}
MAY_CIRCLE = ("hip/streams/",)

INCLUDE = re.compile(r'^#include "([^"]+)"')
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DECLARED = re.compile(r"^(?!static|typedef|#)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\);", re.MULTILINE)
DEFINED = re.compile(r"^(?!static|typedef|#)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
PRODUCT = re.compile(r"^\s*(?:import|from) amdkernel_mcp\b|#include .*amdkernel_mcp")


def main() -> int:
    """Prints the violations; the exit code."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "sandbox"
    found = sorted(violations(folder))
    print("\n".join(found) or "includes: no violation")
    return bool(found)


def violations(sandbox: Path) -> Iterator[str]:
    """One line for each violation in a sandbox folder: FILE:LINE: what is wrong, and what is allowed."""
    emulator = sandbox / "emulator"
    files = sorted(path for path in emulator.rglob("*") if path.suffix in (".c", ".h", ".def"))
    texts = {str(path.relative_to(emulator)): path.read_text(encoding="utf-8") for path in files}
    yield from forbidden_rooms(texts)
    yield from circles(texts)
    yield from strayed_declarations(texts)
    for path in sorted((*sandbox.rglob("*.py"), *files)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if PRODUCT.search(line):
                yield f"{path.relative_to(sandbox)}:{number}: the sandbox imports nothing of amdkernel_mcp"


def includes(text: str) -> Iterator[tuple[int, str]]:
    """Line and path of each include of a file of ours."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1]


def room(path: str) -> str:
    """The first folder of a path, in hip the first two; the path itself for a file outside all rooms."""
    parts = path.split("/")
    return "/".join(parts[: 2 if parts[0] == "hip" and len(parts) > 2 else 1])


def forbidden_rooms(texts: Mapping[str, str]) -> Iterator[str]:
    """Includes across rooms that ALLOWED does not name."""
    for path, text in texts.items():
        own = room(path)
        for number, target in includes(text):
            allowed = ALLOWED.get(own, ())
            inside = any(target == name or target.startswith(f"{name}/") for name in (own, *allowed))
            if target not in texts:
                yield f"{path}:{number}: includes {target}, which does not exist; paths start at sandbox/emulator"
            elif not inside and target != FACE:
                names = ", ".join((own, FACE, *allowed))
                yield f"{path}:{number}: includes {target}; {own} may include only: {names}"


def circles(texts: Mapping[str, str]) -> Iterator[str]:
    """One line for each circle of files, at an include that is part of it."""
    graph: dict[str, dict[str, str]] = {}
    for path, text in texts.items():
        links = graph.setdefault(unit(path), {})
        for number, target in includes(text):
            if unit(target) != unit(path) and not (path.startswith(MAY_CIRCLE) and target.startswith(MAY_CIRCLE)):
                links.setdefault(unit(target), f"{path}:{number}")
    done: set[str] = set()
    for start in graph:
        yield from _circles_from(start, graph, [], done)


def _circles_from(node: str, graph: Mapping[str, Mapping[str, str]], path: list[str], done: set[str]) -> Iterator[str]:
    if node in path:
        circle = [*path[path.index(node) :], node]
        yield f"{graph[circle[0]][circle[1]]}: closes a circle of files: {' -> '.join(circle)}"
    elif node not in done:
        for target in graph.get(node, ()):
            yield from _circles_from(target, graph, [*path, node], done)
        done.add(node)


def unit(path: str) -> str:
    """A source and its header as one: the path without its suffix."""
    return path.rpartition(".")[0]


def strayed_declarations(texts: Mapping[str, str]) -> Iterator[str]:
    """Functions that a header declares and another file than its source defines."""
    code = {path: COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text) for path, text in texts.items()}
    home = {name: path for path, text in code.items() if path.endswith(".c") for name in DEFINED.findall(text)}
    for path, text in code.items():
        if not path.endswith(".h") or path == FACE:
            continue
        for match in DECLARED.finditer(text):
            source = home.get(match[1], "")
            if unit(source) != unit(path):
                number = text.count("\n", 0, match.start()) + 1
                where = f"defined in {source}" if source else "defined nowhere"
                yield f"{path}:{number}: declares {match[1]}, {where}; declare it in the header of its source"


if __name__ == "__main__":
    sys.exit(main())

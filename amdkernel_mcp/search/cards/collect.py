"""What kernels on this node are compiled with: the command that copies it out of the sandbox, and what is made of it.

The engine runs the command and hands over the files: this module knows no sandbox.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.cards.declarations import write_declarations
from amdkernel_mcp.search.cards.headers import AST_SCRIPT, entries_of, hip_version
from amdkernel_mcp.search.corpus.sandbox_documents import write_sandbox_documents

TIMEOUT_S = 120.0
# clang's own headers declare the device functions of <math.h>; its builtins are a table inside the compiler.
_SCRIPT = r"""
for root in "$ROCM_PATH" /opt/rocm /usr; do
    if [ -n "$root" ] && [ -d "$root/include/hip" ]; then cp -rL "$root/include/hip" "$OUT/hip"; break; fi
done
hipcc --version > "$OUT/hipcc" 2>/dev/null
bin=$(sed -n 's/^InstalledDir: *//p' "$OUT/hipcc")
python3 header_ast.py "$bin/clang++" "$OUT/hip" > "$OUT/ast"
for header in __clang_hip_math.h __clang_hip_libdevice_declares.h; do
    cp "$bin"/../lib/clang/*/include/$header "$OUT/hip/" 2>/dev/null
done
python3 - "$bin"/../lib/libclang-cpp.so.* "$(readlink -f "$bin/clang")" > "$OUT/builtins" 2>/dev/null <<'PYTHON'
import re, sys
row = re.compile(rb"\0(__builtin_amdgcn_\w+)\0([\w*&.]+)\0(\w*)\0([\w,|()-]*)(?=\0)")
for file in sys.argv[1:]:
    try:
        with open(file, "rb") as compiler:
            rows = row.findall(compiler.read())
    except OSError:
        continue
    if rows:
        line = 'TARGET_BUILTIN(%s, "%s", "%s", "%s")\n'
        sys.stdout.write("".join(line % tuple(part.decode() for part in one) for one in rows))
        break
PYTHON
exit 0
"""
COMMAND = ("sh", "-c", _SCRIPT)


@dataclass(frozen=True)
class Collected:
    """What COMMAND left in its output folder. in_sandbox: whether the headers are those of a sandbox."""

    files: Mapping[str, bytes]
    stderr: str
    in_sandbox: bool


def command_files() -> dict[str, bytes]:
    """The files that COMMAND needs in its working folder."""
    return {AST_SCRIPT.name: AST_SCRIPT.read_bytes()}


def keep_declarations(collected: Collected, path: Path, documents: Path) -> int:
    """Writes the declarations to `path` and the documents to a folder; returns the number of declarations.

    Raises DocumentationError where there are no headers.
    """
    files = collected.files
    headers = {name.removeprefix("hip/"): data for name, data in files.items() if name.startswith("hip/")}
    if not headers:
        reason = collected.stderr[-300:].strip() or "no include/hip"
        raise DocumentationError(f"the sandbox has no HIP headers: {reason}")
    said = files.get("hipcc", b"").decode("utf-8", "replace")
    clang = re.search(r"clang version ([\d.]+)", said)
    hip = re.search(r"^HIP version: *(\S+)", said, re.MULTILINE)
    compiler = f"hipcc {hip[1] if hip else '?'} with clang {clang[1] if clang else '?'}"
    origin = "HIP's headers in the sandbox" if collected.in_sandbox else "HIP's headers on this machine"
    builtins = files.get("builtins", b"")
    entries = entries_of(headers, files.get("ast", b""), builtins)
    write_sandbox_documents(documents, headers, builtins, clang[1] if clang else "unknown")
    return write_declarations(entries, path, hip_version=hip_version(headers), compiler=compiler, origin=origin)

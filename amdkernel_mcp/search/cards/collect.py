"""Fetches what kernels on this node are compiled with from the sandbox: HIP's headers and clang's builtins."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.cards.headers import write_declarations

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox

TIMEOUT_S = 60.0
BUILTINS = "BuiltinsAMDGPU.inc"  # the form in which clang's own sources have this table
# clang's own headers declare the device functions of <math.h>; its builtins stand in a table inside the compiler.
_SCRIPT = r"""
for root in "$ROCM_PATH" /opt/rocm /usr; do
    if [ -n "$root" ] && [ -d "$root/include/hip" ]; then cp -rL "$root/include/hip" "$OUT/hip"; break; fi
done
hipcc --version > "$OUT/hipcc" 2>/dev/null
bin=$(sed -n 's/^InstalledDir: *//p' "$OUT/hipcc")
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


def sandbox_documents(settings: Settings) -> Path:
    """Where the headers (`hip`) and the builtins (`clang/builtins`) lie, so that they can be indexed too."""
    return settings.cache_dir / "docs" / "sandbox"


def collect_declarations(sandbox: "Sandbox", path: Path, documents: Path) -> int:
    """Writes what the sandbox's compiler declares to `path`, and the documents themselves; how many declarations.

    Raises DocumentationError where the sandbox has no headers, and SandboxError where it cannot do its work.
    """
    completed = sandbox.run("compile", ["sh", "-c", _SCRIPT], {}, timeout_s=TIMEOUT_S)
    files = {name.removeprefix("hip/"): data for name, data in completed.files.items() if name.startswith("hip/")}
    if not files:
        reason = completed.stderr[-300:].strip() or "no include/hip"
        raise DocumentationError(f"the sandbox has no HIP headers: {reason}")
    said = completed.files.get("hipcc", b"").decode("utf-8", "replace")
    clang = re.search(r"clang version ([\d.]+)", said)
    hip = re.search(r"^HIP version: *(\S+)", said, re.MULTILINE)
    compiler = f"hipcc {hip[1] if hip else '?'} with clang {clang[1] if clang else '?'}"
    origin = "HIP's headers in the sandbox" if sandbox.isolation != "none" else "HIP's headers on this machine"
    builtins = completed.files.get("builtins", b"")
    _write_documents(documents, files, builtins, clang[1] if clang else "unknown")
    return write_declarations(files, path, builtins=builtins, compiler=compiler, origin=origin)


def _write_documents(folder: Path, headers: Mapping[str, bytes], builtins: bytes, clang: str) -> None:
    """Both folders anew; `clang/.info/version` says which clang has the builtins."""
    made = {f"hip/{name}": data for name, data in headers.items()}
    made |= {f"clang/builtins/{BUILTINS}": builtins, "clang/.info/version": f"{clang}\n".encode()}
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for name, data in made.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    except OSError as error:
        raise DocumentationError(f"{folder} cannot be written: {error}") from None

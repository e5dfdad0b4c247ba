"""Fetches the HIP headers that kernels on this node are compiled with: those of the sandbox."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.docs.cards.headers import write_declarations
from amdkernel_mcp.errors import DocumentationError

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox

TIMEOUT_S = 60.0
# clang's own headers declare the device functions of <math.h>.
_SCRIPT = """
for root in "$ROCM_PATH" /opt/rocm /usr; do
    if [ -n "$root" ] && [ -d "$root/include/hip" ]; then cp -rL "$root/include/hip" "$OUT/hip"; break; fi
done
clang=$(hipcc --version 2>/dev/null | sed -n 's/^InstalledDir: *//p')
for header in __clang_hip_math.h __clang_hip_libdevice_declares.h; do
    cp "$clang"/../lib/clang/*/include/$header "$OUT/hip/" 2>/dev/null
done
hipcc --version > "$OUT/hipcc" 2>/dev/null
exit 0
"""


def collect_declarations(sandbox: "Sandbox", path: Path) -> int:
    """Writes what the sandbox's HIP headers declare to `path`; how many declarations there are.

    Raises DocumentationError where the sandbox has no headers, and SandboxError where it cannot do its work.
    """
    completed = sandbox.run("compile", ["sh", "-c", _SCRIPT], {}, timeout_s=TIMEOUT_S)
    headers = {
        name.removeprefix("hip/"): content for name, content in completed.files.items() if name.startswith("hip/")
    }
    if not headers:
        raise DocumentationError(
            f"the sandbox has no HIP headers: {completed.stderr[-300:].strip() or 'no include/hip'}"
        )
    said = completed.files.get("hipcc", b"").decode("utf-8", "replace")
    clang = re.search(r"clang version ([\d.]+)", said)
    hip = re.search(r"^HIP version: *(\S+)", said, re.MULTILINE)
    compiler = f"hipcc {hip[1] if hip else '?'} with clang {clang[1] if clang else '?'}"
    origin = "HIP's headers in the sandbox" if sandbox.isolation != "none" else "HIP's headers on this machine"
    return write_declarations(headers, path, compiler=compiler, origin=origin)

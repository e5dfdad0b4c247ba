"""The instructions of code objects that a program brought, and the names of its kernels as the source has them."""

from collections.abc import Mapping, Sequence

from amdkernel_mcp.compiler.compile_job import scripts
from amdkernel_mcp.execution.sandbox import Sandbox

TIMEOUT_S = 60.0
OUTPUT_LIMIT_BYTES = 96 << 20
_SCRIPT = r"""
prepared=${AMDKERNEL_COMPILE_HOME:-/opt/amdkernel/compile}
if [ -r "$prepared/tools" ]; then . "$prepared/tools"; else . ./find-tools; find_tools || exit 2; fi
"${objdump%objdump}cxxfilt" < names > "$OUT/names" || rm -f "$OUT/names"
for object in *.co; do
    "$objdump" -d --mcpu="$0" "$object" > "$OUT/$object" || rm -f "$OUT/$object"
done
exit 0
"""


def disassemble(
    sandbox: Sandbox, arch: str, objects: Mapping[str, bytes], kernels: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The disassembly of each code object, by its name `N.co`, and each kernel's name as the source has it:
    `copy<float>(float*)` of `_Z4copyIfEvPT_`.

    What cannot be disassembled is left out; both are empty where it takes too long. Raises SandboxError.
    """
    files = {**scripts(), **objects, "names": "".join(f"{name}\n" for name in kernels).encode()}
    done = sandbox.run(
        "compile", ["sh", "-c", _SCRIPT, arch], files, timeout_s=TIMEOUT_S, output_limit_bytes=OUTPUT_LIMIT_BYTES
    )
    if done.timed_out or done.truncated or done.out_of_memory:
        return {}, {}
    shown = done.files.get("names", b"").decode("utf-8", "replace").splitlines()
    names = dict(zip(kernels, shown, strict=True)) if len(shown) == len(kernels) else {}
    return {name: done.files[name].decode("utf-8", "replace") for name in objects if name in done.files}, names

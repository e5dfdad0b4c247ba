"""The code objects in compressed offload bundles, which the compiler's own tool unpacks in the sandbox."""

from collections.abc import Mapping, Sequence

from amdkernel_mcp.compiler.compile_job import scripts
from amdkernel_mcp.compiler.containers import MAX_OBJECTS, Contained
from amdkernel_mcp.compiler.elf_file import is_code_object
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.sandbox import Sandbox

TIMEOUT_S = 60.0
OUTPUT_LIMIT_BYTES = 256 << 20
_SCRIPT = r"""
prepared=${AMDKERNEL_COMPILE_HOME:-/opt/amdkernel/compile}
if [ -r "$prepared/tools" ]; then . "$prepared/tools"; else . ./find-tools; find_tools || exit 2; fi
bundler=${objdump%llvm-objdump}clang-offload-bundler
for bundle in *.ccob; do
    "$bundler" --list --type=o --input="$bundle" | grep gfx > entries
    number=0
    while read -r entry; do
        name=$OUT/$bundle.$number
        "$bundler" --unbundle --type=o --targets="$entry" --input="$bundle" --output="$name" || break
        printf '%s\n' "$entry" > "$name.triple"
        number=$((number + 1))
    done < entries
done
exit 0
"""


def unpack_bundles(sandbox: Sandbox, bundles: Sequence[Contained]) -> list[list[Contained]]:
    """The code objects of each compressed bundle, in its order.

    Raises InputError for one that cannot be unpacked or holds too much, SandboxError.
    """
    files = {f"{number}.ccob": bundle.content for number, bundle in enumerate(bundles)}
    done = sandbox.run(
        "compile",
        ["sh", "-c", _SCRIPT],
        {**scripts(), **files},
        timeout_s=TIMEOUT_S,
        output_limit_bytes=OUTPUT_LIMIT_BYTES,
    )
    if done.timed_out or done.truncated or done.out_of_memory:
        raise InputError("the compressed offload bundle holds too much to be unpacked")
    found = [_of(done.files, name) for name in files]
    if not all(found):
        raise InputError("the compressed offload bundle cannot be unpacked, or has no code for AMD's GPUs")
    if sum(map(len, found)) > MAX_OBJECTS:
        raise InputError(f"the file has more than {MAX_OBJECTS} code objects")
    return found


def _of(files: Mapping[str, bytes], bundle: str) -> list[Contained]:
    found = []
    for number in range(MAX_OBJECTS + 1):
        content, triple = (files.get(f"{bundle}.{number}{end}") for end in ("", ".triple"))
        if content is None or triple is None:
            break
        if is_code_object(content):
            found.append(Contained(content, triple.decode("utf-8", "replace").strip()))
    return found

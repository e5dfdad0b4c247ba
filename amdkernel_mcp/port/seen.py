"""Has clang read a program for the lint, in a compile sandbox: its syntax tree on a wave of 64, and what that shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from amdkernel_mcp.execution.runner.program_files import WORK, Program
from amdkernel_mcp.port.keep_warps import FOLDER, seen_headers
from amdkernel_mcp.port.rules_of_types import SeenFunction, hits_of_trees
from amdkernel_mcp.port.syntax_tree import read_trees

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox

TIMEOUT_S = 60.0
_TREE = "tree"
_MOST_KIB = 48 << 10
_ON_GPU = 'anyOf(hasAttr("attr::CUDAGlobal"), hasAttr("attr::CUDADevice"))'
_OTHERS = f'isExpansionInSystemHeader(), isExpansionInFileMatching("{FOLDER}/")'
_MATCH = f"match functionDecl(isDefinition(), {_ON_GPU}, unless(anyOf({_OTHERS})))"
# The device side alone: one parse, and code of the host has no waves. A file larger than the limit ends the command.
_READ = f"""
ulimit -f {_MOST_KIB}
bin=$(ls -d /usr/lib/llvm-*/bin /opt/rocm/llvm/bin | sort -V | tail -1)
source=$1
shift
exec "$bin/clang-query" -c 'set output dump' -c '{_MATCH}' "$source" -- "$bin/clang++" -x hip --cuda-device-only \\
    --offload-arch=gfx942 -nogpulib -fsyntax-only -w -I. "$@" > "$OUT/{_TREE}"
"""


def seen_functions(sandbox: Sandbox, program: Program, texts: Mapping[str, str]) -> dict[str, list[SeenFunction]]:
    """What clang's tree shows in each file of a program that compiles with our headers.

    texts: the program's own files. Empty where clang does not read it in time or the tree is too large: the lint then
    has the tokens. Raises SandboxError.
    """
    files = {**program.files, **seen_headers()}
    folders = [f"-I{folder}" for folder in program.include]
    words = ["sh", "-c", _READ, "read", program.sources[0], *folders, *program.flags]
    done = sandbox.run("compile", words, files, timeout_s=TIMEOUT_S)
    tree = done.files.get(_TREE, b"")
    wrong = " error: " in done.stderr or " generated" in done.stderr  # clang-query ends with 0 after errors as well
    if done.exit_code or wrong or done.timed_out or done.truncated or not tree:
        return {}
    return hits_of_trees(read_trees(tree.decode(errors="replace")), texts, WORK)

"""Code objects come from a sandbox, but so does damage: no file may make the loader read or write where it must not."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

ROUNDS = 1000
FILES = ("triple-gfx942.co", "triple.bundle", "triple.compressed")

SCRIPT = f"""
set -e
clang=$(ls -d /usr/lib/llvm-*/bin/clang /opt/rocm/llvm/bin/clang 2>/dev/null | sort -V | tail -1)
$clang -std=gnu11 -O1 -fsanitize=undefined -fno-sanitize=alignment -fsanitize-trap=all -D__HIP_PLATFORM_AMD__ \\
    -I/opt/amdkernel/emulator damaged_code_objects.c /opt/amdkernel/emulator/hip/*/*.c -ldl -lpthread -o damaged \\
    -no-pie -Wl,--unresolved-symbols=ignore-in-object-files  # what the loader does not call
for file in {" ".join(FILES)}; do
    AMDKERNEL_EMULATOR_OPTIONS=arena_mb=3072 ./damaged {ROUNDS} $file >$OUT/$file
done
"""


@pytest.mark.thorough
def test_no_damaged_code_object_breaks_the_loader(sandbox: Sandbox, built: dict[str, bytes]) -> None:
    source = (Path(__file__).parent / "damaged_code_objects.c").read_bytes()
    files = {name: built[name] for name in FILES} | {"damaged_code_objects.c": source}
    done = sandbox.run("compile", ["sh", "-c", SCRIPT], files, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    accepted = {name: int(done.files[name]) for name in FILES}
    # Both outcomes occur, or the damage was not of a kind that tests anything.
    assert all(0 < count < ROUNDS for count in accepted.values()), accepted

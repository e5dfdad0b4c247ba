"""Sandboxed compile against bare `hipcc -c`: `make bench`.

Ours is all that the engine waits for: sandbox, compile, link, disassembly, reading the code object. The anchor is
`hipcc -c --offload-arch=gfx942 -O3` on the same file in a running container of the same image, timed inside the
container and so without the cost of Docker.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.sandbox import Sandbox
from benchmarks.paired import paired

ARCH = "gfx942"
WARM_POOL_S = 0.8  # what the pool takes to start the next container; no agent compiles more often than that

# The header is included for files that leave it to us; it is guarded, so for others nothing changes.
BARE = f"""
start=$(date +%s%N)
hipcc -c --offload-arch={ARCH} -O3 -include hip/hip_runtime.h -o kernel.o "$0" || exit 1
end=$(date +%s%N)
echo $((end - start)) > "$OUT/ns"
"""


def bare_hipcc(sandbox: Sandbox, name: str, source: bytes) -> float:
    """Seconds that plain hipcc takes inside the container."""
    done = sandbox.run("compile", ["sh", "-c", BARE, name], {name: source}, timeout_s=120)
    if done.exit_code:
        raise SystemExit(f"hipcc failed: {done.stderr}")
    return int(done.files["ns"]) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=folder("examples") / "row_softmax/kernels/better.hip")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    source = options.file.read_text()
    sandbox = open_sandbox(load_settings())
    place = Path(tempfile.mkdtemp(prefix="amdkernel-bench-"))
    try:
        report(sandbox, place, options.file.name, source, rounds=options.rounds)
    finally:
        sandbox.close()
        shutil.rmtree(place)


def report(sandbox: Sandbox, place: Path, name: str, source: str, *, rounds: int) -> None:
    """Print both ratios with their quartiles."""
    compiler = Compiler(sandbox, place)

    def compile_again() -> None:
        result = compiler.compile(source, arch=ARCH, file_name=name).result
        if not result.ok:
            raise SystemExit(f"{name} does not compile: {result.diagnostics}")

    def compile_anew() -> float:
        shutil.rmtree(place, ignore_errors=True)
        started = time.perf_counter()
        compile_again()
        return time.perf_counter() - started

    def bare() -> float:
        return bare_hipcc(sandbox, name, source.encode())

    ways: dict[str, Callable[[], float | None]] = {"cache off": compile_anew, "cache hit": compile_again}
    print(f"{name}, {len(source.splitlines())} lines, {ARCH}; quartiles in []")
    for way, ours in ways.items():
        r = paired(ours, anchor=bare, rounds=rounds, settle=lambda: time.sleep(WARM_POOL_S))
        print(
            f"compile, {way}: {r.median:.2g} x hipcc -c  [{r.low:.2g}, {r.high:.2g}]  {r.rounds} rounds, "
            f"ours {r.ours_s * 1e3:.1f} ms, hipcc {r.anchor_s:.2f} s"
        )


if __name__ == "__main__":
    main()

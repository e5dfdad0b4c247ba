"""The rank of the planted reason among the findings, for each kernel of tests/profiling/planted: `make bench`."""

import tempfile
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.targets import find_target
from benchmarks.planted_kernels import FOLDER, Ran, run_file


def main() -> None:
    """Print a line for each kernel and the counts at the end."""
    settings = load_settings()
    sandbox, target = open_sandbox(settings), find_target("emulator:gfx942", settings)
    planted, first, three, controls, fine, pairs, seen = 0, 0, 0, 0, 0, 0, 0
    try:
        with tempfile.TemporaryDirectory() as cache:
            for path in sorted(FOLDER.glob("*.hip")):
                ran = run_file(path, sandbox, target, Path(cache))
                for kernel, (kind, reason) in ran.kernels.items():
                    show(ran, kernel, kind, reason)
                    if kind == "planted":
                        rank = ran.rank(kernel)
                        planted, first, three = planted + 1, first + (rank == 1), three + (rank in (1, 2, 3))
                    else:
                        controls, fine = controls + 1, fine + ran.is_fine(kernel)
                for kernel in ran.cures:
                    gain = ran.gain_of(kernel)
                    pairs, seen = pairs + 1, seen + (gain is not None and gain.low > 1)
                    print(
                        f"cured    {kernel}: {gain and f'{gain.low:.2f} to {gain.high:.2f} times as fast'}", flush=True
                    )
    finally:
        sandbox.close()
    print(f"planted reason first: {first} of {planted}; among the first three: {three}")
    print(f"cures that are seen as an improvement: {seen} of {pairs}")
    print(f"controls without a false finding in front: {fine} of {controls}")


def show(ran: Ran, kernel: str, kind: str, reason: str) -> None:
    """One kernel: what was planted, its rank, and what is said first."""
    found = ran.findings(kernel)
    rank = (ran.rank(kernel) or "-") if kind == "planted" else ("fine" if ran.is_fine(kernel) else "FALSE")
    print(f"{kind:8} {reason:18} {kernel:22} {rank!s:5} {found[0] if found else 'nothing found'}", flush=True)


if __name__ == "__main__":
    main()

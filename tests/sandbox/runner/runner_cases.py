"""The case that most tests of the runner use: three buffers of N floats."""

import struct

import numpy as np

from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerLaunch

N = 1000
A = np.arange(N, dtype="f4")
B = np.ones(N, dtype="f4")


def three_buffers(kernel: str, *, block: int = 256, lds_bytes: int = 0, repeats: int = 2) -> RunCase:
    """c = kernel(a, b), in as many workgroups as N needs."""
    arguments = (
        RunnerArgument("a"),
        RunnerArgument("b"),
        RunnerArgument("c"),
        RunnerArgument(scalar=struct.pack("<i", N)),
    )
    return RunCase(
        buffers=(
            Buffer("a", A.nbytes, "in", A.tobytes()),
            Buffer("b", B.nbytes, "in", B.tobytes()),
            Buffer("c", A.nbytes, "out"),
        ),
        launches=(RunnerLaunch(kernel, (-(-N // block), 1, 1), (block, 1, 1), lds_bytes, arguments),),
        repeats=repeats,
    )

"""What an agent reads of a port: two kilobytes, with the lines to look at; the rest is in a file."""

import json
from pathlib import Path

from amdkernel_mcp.port.answer import hits_of, suspects
from amdkernel_mcp.port.sources import CudaProgram
from amdkernel_mcp.port.verify import where_time_went
from amdkernel_mcp.results.kernels import Diagnostic
from amdkernel_mcp.results.port import PortChange, PortResult
from amdkernel_mcp.runner_protocol.records import DispatchRecord
from amdkernel_mcp.server.delivery.truncate import size, truncate
from tests.port.programs import WAVE64

SOURCE = "\n".join(WAVE64.values())


def test_an_answer_has_two_kilobytes_with_the_verdict_and_the_first_suspect(tmp_path: Path) -> None:
    hits = hits_of(CudaProgram("a.cu", {"a.cu": SOURCE}))
    found = suspects(hits, keep_warps=False)
    whole = PortResult(
        verdict="wave64_mistake",
        reason="right on waves of 32, wrong on waves of 64: line 3",
        suspects=found,
        lint=hits,
        by_hand=["ptx: 3 places"] * 20,
        changes=[PortChange(what="mask of all lanes left out", times=3, line=1)] * 9,
        diagnostics=[Diagnostic(severity="warning", message="w" * 300, line=3)] * 9,
        diff="+" * 20_000,
        sources={"a.hip": SOURCE * 9},
    )
    short = truncate(whole, tmp_path)
    assert size(short) <= 2048
    assert (short.verdict, short.reason) == ("wave64_mistake", whole.reason)
    assert short.suspects[0].line == found[0].line
    assert json.loads(Path(short.artefacts[0].path).read_text())["sources"] == whole.sources


def test_a_run_that_did_not_end_says_where_its_time_went() -> None:
    launch = DispatchRecord.model_construct(kernel="sweep", grid=(64, 1, 1), block=(256, 1, 1), seconds=4.0)
    of_kernels = where_time_went([launch, launch], 10.0)
    assert of_kernels.startswith("2 launches of sweep took 8.0 s of 10 s (grid 64x1x1, block 256x1x1): make it smaller")
    assert "the rest is the host's code" in where_time_went([launch], 10.0)
    assert "kernels took 0.0 s of 10 s" in where_time_went([], 10.0)

"""An attempt made over MCP is replayed from the command line, and from its export in another place."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from problem_text import one_to_one

from amdkernel_mcp import bundled
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.history.container import verified_in_a_container
from tests.waiting import AT_MOST_S

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]
COMMAND = str(Path(sys.executable).with_name("amdkernel"))
TWICE = "def reference(x, *, n):\n    return {'y': 2 * x}\n"
DOUBLES = """// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
KERNEL = bundled.folder("examples") / "vector_add" / "kernels"


def _amdkernel(data: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    variables = os.environ | {"AMDKERNEL_DATA_DIR": str(data), "AMDKERNEL_CACHE_DIR": str(data / "cache")}
    ended = subprocess.run(
        [COMMAND, *arguments, "--json"], env=variables, capture_output=True, text=True, timeout=AT_MOST_S
    )
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


@pytest.mark.thorough
async def test_an_attempt_over_mcp_is_replayed_from_the_shell_and_elsewhere(sandbox: Sandbox, tmp_path: Path) -> None:
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.server.app import build_server

    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    settings = load_settings({"data_dir": here, "cache_dir": here / "cache"})
    source = sorted(KERNEL.glob("*.hip"))[0].read_text()
    async with Client(build_server(settings, local=True)) as client:
        made = (await client.call_tool("check_kernel", {"problem": "vector_add", "source": source})).structured_content
        listed = (await client.call_tool("list_attempts", {})).structured_content
    assert made["not_recorded"] is None
    assert [each["id"] for each in listed["attempts"]] == [made["attempt"]]

    code, replayed = _amdkernel(here, "replay", made["attempt"])
    assert (code, replayed["holds"], replayed["verdict_now"]) == (0, True, "correct")

    code, _ = _amdkernel(here, "export", made["attempt"], "--out", str(tmp_path / "export"))
    assert code == 0
    code, verified = _amdkernel(elsewhere, "verify", str(tmp_path / "export"))
    assert (code, verified["attempt"], verified["known_key"]) == (1, made["attempt"], False)
    code, verified = _amdkernel(elsewhere, "verify", str(tmp_path / "export"), "--key", verified["key"])
    assert (code, verified["known_key"]) == (0, True)
    code, printed = verified_in_a_container(sandbox, tmp_path / "export")
    assert (code, made["attempt"] in printed) == (0, True), printed
    code, replayed = _amdkernel(elsewhere, "replay", str(tmp_path / "export"))
    assert (code, replayed["replayed"]) == (0, made["attempt"])


@pytest.mark.thorough
async def test_a_replay_says_that_the_problem_was_replaced_and_runs_the_recorded_one(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.engine.engine import Engine

    assert sandbox
    engine = Engine(load_settings({"data_dir": tmp_path, "cache_dir": tmp_path / "cache"}))
    try:
        engine.create_problem("scale", one_to_one("n = 300"), TWICE)
        attempt = engine.do(Check(problem="scale", source=DOUBLES)).attempt or ""
        engine.create_problem("scale", one_to_one("n = 300"), TWICE.replace("2 * x", "3 * x"))
        replayed = engine.attempts.replay(attempt)
        assert (replayed.holds, replayed.changed) == (True, ["problem"])
        assert "correct again (changed since: problem)" in replayed.reason
        assert engine.do(Check(problem="scale", source=DOUBLES)).verdict == "incorrect"
        record = engine.attempts.show(attempt).attempt
        assert record["ran"]["code_object"] == record["answer"]["code_object"].removeprefix("sha256:")
        assert record["ran"]["image"] == sandbox.image_id
        assert record["ran"]["toolchain"]
    finally:
        engine.close()


@pytest.mark.thorough
async def test_the_record_of_a_benchmark_has_both_kernels_and_the_keys_of_their_inputs(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    from amdkernel_mcp.checking.cases.seeds import is_committed
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.engine.engine import Engine

    assert sandbox
    engine = Engine(load_settings({"data_dir": tmp_path, "cache_dir": tmp_path / "cache"}))
    try:
        engine.create_problem("scale", one_to_one("n = 300"), TWICE)
        faster = DOUBLES.replace("256", "128")
        timed = engine.do(Benchmark(problem="scale", source=faster, baseline=DOUBLES)).attempt or ""
        record = engine.attempts.show(timed).attempt
        assert record["problem"]["hash"] == record["answer"]["hashes"]["problem"]
        for side in ("ran", "baseline_ran"):
            assert set(record[side]["seeds"]) == {"check", "timing"}
            assert is_committed(**record[side]["seeds"]["check"])
            assert record[side]["seeds"]["timing"]["key"] == "", "later kernels are timed with the same inputs"
        assert record["ran"]["seeds"]["timing"] == record["baseline_ran"]["seeds"]["timing"]
        assert record["ran"]["code_object"] != record["baseline_ran"]["code_object"]
    finally:
        engine.close()

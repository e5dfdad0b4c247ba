"""A kernel on a header library through a verb: it is judged, and its record has the library's hash."""

from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.errors import FlagError
from tests.compiler.test_header_libraries import GEMM, TILE
from tests.languages.triton_problems import MATMUL, MATMUL_REFERENCE

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]


@pytest.mark.thorough
def test_a_gemm_of_tiles_is_correct_and_recorded_with_the_hash_of_its_headers(tmp_path: Path) -> None:
    headers, problem = tmp_path / "include", tmp_path / "gemm"
    (headers / "tile/detail").mkdir(parents=True)
    (headers / "tile/tile.hpp").write_text(TILE)
    (headers / "tile/detail/rows.inc").write_text("namespace tile { constexpr int ROWS = 4; }\n")
    problem.mkdir()
    (problem / "problem.toml").write_text(MATMUL.replace("m = 33, n = 65, k = 70", "m = 32, n = 64, k = 70"))
    (problem / "reference.py").write_text(MATMUL_REFERENCE)
    folders = {"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}
    engine = Engine(load_settings({**folders, "headers": {"tiles": headers}}))
    try:
        answer = engine.do(Check(problem=str(problem), source=GEMM))
        assert answer.verdict == "correct", answer.reason
        ran = engine.attempts.show(answer.attempt or "").attempt["ran"]
        assert list(ran["headers"]) == ["tiles"]
        assert len(ran["headers"]["tiles"]) == 64
        assert "--headers=tiles" in ran["flags"]
        with pytest.raises(FlagError, match="no header library is called 'ck'"):
            engine.do(Check(problem=str(problem), source=GEMM.replace("--headers=tiles", "--headers=ck")))
    finally:
        engine.close()

"""Kernels whose terms cancel inside: honest ones are correct in each type, those with a mistake are not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cancelling_problems import FORMULAS, source, write_problem

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

GATE = ("softmax_backward",)
THOROUGH = [pytest.param(name, marks=pytest.mark.thorough) for name in FORMULAS if name not in GATE]


@pytest.fixture(scope="module")
def engine(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    data = tmp_path_factory.mktemp("data")
    engine = Engine(load_settings({"data_dir": data, "cache_dir": settings.cache_dir}))
    yield engine
    engine.close()


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_honest_kernels_whose_terms_cancel_are_correct(engine: Engine, tmp_path: Path, dtype: str) -> None:
    result = engine.do(
        Check(problem=write_problem(tmp_path, list(FORMULAS), dtype), source=source(list(FORMULAS), dtype))
    )
    assert result.verdict == "correct", result.reason


@pytest.mark.parametrize("name", [*GATE, *one_in(4, THOROUGH)])
def test_the_same_kernel_with_a_mistake_is_incorrect(engine: Engine, tmp_path: Path, name: str) -> None:
    result = engine.do(
        Check(problem=write_problem(tmp_path, [name], "f32"), source=source([name], "f32", mistake=True))
    )
    assert result.verdict == "incorrect", name
    assert "wrong_result" in {finding.kind for finding in result.findings}

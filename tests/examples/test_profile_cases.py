"""The examples at the size of a GPU: there the better kernel is the better one, in the model."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.problems.problem_file import bundled_problems
from amdkernel_mcp.results.kernels import ProfileResult
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}))
    yield engine
    engine.close()


def profile(engine: Engine, problem: str, kernel: str) -> ProfileResult:
    path = folder("examples") / problem / "kernels" / f"{kernel}.hip"
    return engine.do(Profile(problem=problem, source=path.read_text(), file_name=path.name))


def middle_us(result: ProfileResult) -> float:
    """Of the modelled times of all kernels."""
    spans = [kernel.modelled_us for kernel in result.kernels]
    assert all(spans)
    return sum(math.sqrt(each.low * each.high) for each in spans if each)


@pytest.mark.parametrize("problem", one_in(3, bundled_problems()))
def test_the_better_kernel_is_better_where_it_fills_the_gpu(engine: Engine, problem: str) -> None:
    naive, better = (middle_us(profile(engine, problem, kernel)) for kernel in ("naive", "better"))
    if problem == "vector_add":
        alike = "both move the same bytes at full width, so memory bounds them alike"
        assert better == pytest.approx(naive, rel=0.1), alike
    else:
        assert better < naive


def test_a_large_product_is_sampled_and_says_so(engine: Engine) -> None:
    result = profile(engine, "gemm_f16", "naive")
    (kernel,) = result.kernels
    assert kernel.sampled
    assert kernel.sampled.ran < kernel.sampled.of == 65536
    assert result.reason.startswith("scaled counts")
    assert not [warning for warning in result.warnings if "not judged" in warning], "67 million elements are compared"
    assert {metric.evidence for metric in kernel.metrics.values()} <= {"modelled", "static", "not_measured"}

"""The examples at the size of a GPU: there the better kernel is the better one, in the model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine import Engine
from amdkernel_mcp.problems.problem_file import bundled_problems
from amdkernel_mcp.results.kernels import ProfileResult

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}))
    yield engine
    engine.close()


def profile(engine: Engine, problem: str, kernel: str) -> ProfileResult:
    path = folder("examples") / problem / "kernels" / f"{kernel}.hip"
    return engine.profile(problem, path.read_text(), file_name=path.name)


def span(result: ProfileResult) -> tuple[float, float]:
    """Both ends of the modelled time of all kernels."""
    spans = [kernel.modelled_us for kernel in result.kernels]
    assert all(spans)
    return sum(each.low for each in spans if each), sum(each.high for each in spans if each)


@pytest.mark.parametrize("problem", bundled_problems())
def test_the_better_kernel_is_better_where_it_fills_the_gpu(engine: Engine, problem: str) -> None:
    naive, better = span(profile(engine, problem, "naive")), span(profile(engine, problem, "better"))
    assert better[0] <= naive[0]
    assert better[0] < naive[0] or better[1] < naive[1]


def test_a_large_product_is_sampled_and_says_so(engine: Engine) -> None:
    result = profile(engine, "gemm_f16", "naive")
    (kernel,) = result.kernels
    assert kernel.sampled
    assert kernel.sampled.ran < kernel.sampled.of == 65536
    assert result.reason.startswith("scaled counts")
    assert any("not judged" in warning for warning in result.warnings)
    assert {metric.evidence for metric in kernel.metrics.values()} <= {"modelled", "static", "not_measured"}

"""PyTorch modules become problems whose drafted kernels are judged; others are refused with the reason."""

import re
from pathlib import Path

import folders
import modules
import pytest

from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.errors import ImportRefused, InputError
from amdkernel_mcp.problems.problem_file import load_problem
from tests.one_in import one_in

# The image with PyTorch takes minutes to build.
pytestmark = [pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow]


@pytest.fixture(scope="module")
def engine(sandbox, settings):
    assert sandbox.isolation == "docker"  # its image is the one of this checkout
    opened = Engine(settings)
    yield opened
    opened.close()


@pytest.fixture
def imported(engine, tmp_path):
    def make(text, name="sample", **options):
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        return engine.imports.problem(file, to=tmp_path / "problems", **options)

    return make


@pytest.mark.parametrize(
    "text", one_in(2, [modules.SCALED_SUM, modules.RELU, modules.CONVOLUTION, modules.SEVERAL_OUTPUTS])
)
def test_the_drafted_kernel_of_a_module_is_right_and_a_broken_one_is_not(imported, engine, text):
    made = imported(text)
    assert made.kernel_is_whole, made.warnings
    kernel = Path(made.kernel).read_text()
    right = engine.do(Check(problem=made.folder, source=kernel))
    assert right.verdict == "correct", right.reason
    broken = engine.do(Check(problem=made.folder, source=re.sub(r"(out\d*\[i_\] = )", r"\g<1>1 + ", kernel, count=1)))
    assert broken.verdict == "incorrect"


@pytest.mark.parametrize(
    "forward",
    one_in(
        2,
        [
            "return x.std(dim=1)",
            "return F.interpolate(x[None, None], scale_factor=2)[0, 0]",
            "a, b = x.cumsum(dim=1).split((56, 200), dim=1)\n"
            "        return torch.cat((b.flip(1), a[:, 1:] * 2), dim=1)",
            "return F.kl_div(F.log_softmax(x, dim=1), x.softmax(dim=0), reduction='batchmean')",
            "return F.avg_pool1d(F.elu(x - 0.5), 5, stride=3, padding=2)",
        ],
    ),
)
def test_operations_of_many_kinds_are_drafted_right(imported, engine, forward):
    made = imported(modules.module(forward))
    assert made.kernel_is_whole, made.warnings
    judged = engine.do(Check(problem=made.folder, source=Path(made.kernel).read_text()))
    assert judged.verdict == "correct", judged.reason


def test_sizes_are_made_smaller_and_stay_free(imported):
    made = imported(modules.SCALED_SUM)
    problem = load_problem(made.folder)
    assert {each.name: each.original for each in made.scaled} == {"rows": 4096, "cols": 8191}
    assert set(problem.ranges) == {"rows", "cols"}
    assert [argument.name for argument in problem.arguments] == ["x", "y", "out", "rows", "cols"]
    assert [each.init.text for each in problem.inputs] == ["uniform(0, 1)", "normal"]
    assert problem.cases[1].held_out


def test_weights_are_inputs_in_the_order_of_the_module(imported):
    problem = load_problem(imported(modules.CONVOLUTION).folder)
    assert [each.name for each in problem.inputs] == ["x", "conv_weight", "conv_bias", "norm_weight", "norm_bias"]
    inits = {each.name: each.init.text for each in problem.inputs}
    assert inits["norm_weight"] == "uniform(0.5, 1.5)"  # ones, which a kernel could leave out
    assert all(each.multiple % 4 == 0 for name, each in problem.ranges.items() if name in ("channels", "features"))


def test_inputs_that_only_the_module_can_make_come_from_it(imported):
    problem = load_problem(imported(modules.SEVERAL_OUTPUTS).folder)
    assert problem.generates
    assert {each.name: each.dtype.name for each in problem.arrays} == {
        "x": "f32", "mask": "u8", "out0": "f32", "out1": "i64", "out2": "u8",
    }  # fmt: skip
    assert problem.scalars[0].name == "scale"
    assert problem.cases[0].values["scale"] == 2.5


def test_a_size_that_is_asked_for_is_taken(imported):
    made = imported(modules.SCALED_SUM, sizes={"rows": 7})
    assert load_problem(made.folder).cases[0].values["rows"] == 7
    with pytest.raises(ImportRefused, match="no size called nosuch"):
        imported(modules.SCALED_SUM, name="other", sizes={"nosuch": 7})


@pytest.mark.parametrize("name", one_in(3, modules.REFUSED))
def test_what_cannot_be_imported_is_refused_with_its_reason(imported, name):
    text, said = modules.REFUSED[name]
    with pytest.raises(ImportRefused) as caught:
        imported(text)
    assert said in caught.value.message


def test_dropout_is_imported_as_in_inference(imported):
    made = imported(modules.module("return F.dropout(x, 0.5, self.training) * 2"), inference=True)
    assert made.kernel_is_whole, made.warnings


def test_a_gpu_mode_task_is_imported_without_the_memory_of_its_output(engine, tmp_path):
    made = engine.imports.problem(folders.gpu_mode(tmp_path / "collection" / "mean"), to=tmp_path)
    problem = load_problem(made.folder)
    assert [each.name for each in problem.arguments] == ["data", "out", "rows", "cols"]
    assert [dict(case.values) for case in problem.cases[:2]] == [{"rows": 16, "cols": 20}, {"rows": 48, "cols": 33}]
    assert made.kernel_is_whole, made.warnings
    assert engine.do(Check(problem=made.folder, source=Path(made.kernel).read_text())).verdict == "correct"


def test_an_arena_task_is_imported_with_the_first_of_its_inputs(engine, tmp_path):
    made = engine.imports.problem(folders.arena(tmp_path / "scale"), to=tmp_path / "problems")
    assert load_problem(made.folder).cases[0].values
    assert engine.do(Check(problem=made.folder, source=Path(made.kernel).read_text())).verdict == "correct"


def test_nothing_is_overwritten(imported):
    imported(modules.RELU)
    with pytest.raises(InputError, match="exists already"):
        imported(modules.RELU)


def test_a_tail_that_the_formula_of_a_module_rounds_away_is_right(imported, engine):
    made = imported(modules.module("return torch.log(1 + torch.exp(x * 40 - 30))"))
    judged = engine.do(Check(problem=made.folder, source=Path(made.kernel).read_text()))
    assert judged.verdict == "correct", judged.reason

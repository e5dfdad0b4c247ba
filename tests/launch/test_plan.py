import pytest
from problem_text import write_problem

from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import load_problem

GOOD = "// amdkernel: launch softmax grid=[rows] block=[256]\n"


@pytest.fixture
def problem(tmp_path):
    return load_problem(write_problem(tmp_path))


def test_a_plan_says_launches_workspaces_flags_and_tunables(problem):
    plan = read_launch_plan(
        "#include <x>\n"
        "// amdkernel: workspace part dtype=f32 shape=[rows, ceil_div(cols, 64)]\n"
        "  //amdkernel: build -O3 -ffast-math -D TILE=64\n"
        "// amdkernel: tune TILE=[16, 32] WAVES=[2,4]\n"
        "// amdkernel: launch first<float, 4> grid=[ceil_div(cols, TILE), rows] block=[64, 2, 1]"
        " args=[x, part, rows*2]\n"
        "// amdkernel: launch second grid=[rows] block=256 lds=4 * max(cols, 64) \n",
        problem,
    )
    assert not plan.mistakes
    first, second = plan.launches
    assert (first.kernel, first.line, len(first.grid), len(first.block)) == ("first<float, 4>", 5, 2, 3)
    assert [str(getattr(argument, "text", argument)) for argument in first.args] == ["x", "part", "rows*2"]
    assert second.args is None
    assert second.lds.value({"cols": 100}) == 400
    assert [(space.name, space.dtype.name) for space in plan.workspaces] == [("part", "f32")]
    assert plan.build == ("-O3", "-ffast-math", "-DTILE=64")
    assert plan.flags() == ("-O3", "-ffast-math", "-DTILE=64", "-DWAVES=2")
    assert plan.flags({"TILE": "16", "WAVES": "4"}) == ("-O3", "-ffast-math", "-DTILE=16", "-DWAVES=4")
    assert plan.constants() == {"TILE": 64, "WAVES": 2}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("// amdkernel: lunch k grid=[1] block=[1]", "did you mean `launch`"),
        ("// amdkernel: launch grid=[1] block=[1]", "needs a name"),
        ("// amdkernel: launch", "needs a name"),
        ("// amdkernel: launch k", "has no grid"),
        ("// amdkernel: launch k block=[1]", "has no grid"),
        ("// amdkernel: launch k grid=[1]", "has no block"),
        ("// amdkernel: launch k grid=[1,1,1,1] block=[1]", "grid has 4 items"),
        ("// amdkernel: launch k grid=[] block=[1]", "grid has 0 items"),
        ("// amdkernel: launch k grid=[rows block=[1]", "not closed"),
        ("// amdkernel: launch k grid=[rows/2] block=[1]", "use // or ceil_div"),
        ("// amdkernel: launch k grid=[lines] block=[1]", "'lines', which is not a scalar"),
        ("// amdkernel: launch k grid=[x] block=[1]", "'x', which is not a scalar"),
        ("// amdkernel: launch k grid=[1] block=[1] smem=4", "no setting 'smem'"),
        ("// amdkernel: launch k grid=[1] block=[1] grid=[2]", "given twice"),
        ("// amdkernel: launch k 4 grid=[1] block=[1]", "'4' is not a setting"),
        ("// amdkernel: launch k grid=[1] block=[1] lds=", "lds has no value"),
        ("// amdkernel: launch k grid=[1] block=[1] args=[x, z]", "'z', which is neither an argument nor a workspace"),
        (GOOD + "// amdkernel: workspace x dtype=f32 shape=[1]", "already taken"),
        (GOOD + "// amdkernel: workspace w dtype=float shape=[1]", "unknown dtype 'float'"),
        (GOOD + "// amdkernel: workspace w shape=[1]", "has no dtype"),
        (
            GOOD + "// amdkernel: workspace w f32 [rows]",
            "is not a setting: workspace NAME dtype=f32 shape=[ceil_div(n, 4096)",
        ),
        (
            GOOD + "// amdkernel: let parts = rows // 4",
            "they are launch, workspace, build, tune; write an expression where",
        ),
        (GOOD + "// amdkernel: workspace w dtype=f32 shape=[k]", "'k', which is not a scalar"),
        (GOOD + "// amdkernel: tune TILE=[]", "a list of numbers"),
        (GOOD + "// amdkernel: tune", "names nothing"),
        (GOOD + "// amdkernel: build -O3 -fplugin=x.so", "'-fplugin=x.so' is not allowed"),
        (GOOD + "// amdkernel: build '-O3", "build: No closing quotation"),
    ],
)
def test_a_mistake_in_a_plan_is_told_with_its_line(problem, line, said):
    plan = read_launch_plan("// a kernel\n" + line, problem)
    assert said in plan.mistakes[0].message
    assert plan.mistakes[0].line == 2 + line.count("\n")
    assert plan.mistakes[0].kind == "launch_plan"


def test_a_misspelt_launch_line_is_one_mistake(problem):
    (mistake,) = read_launch_plan("// amdkernel: lunch k grid=[1] block=[1]\n", problem).mistakes
    assert "did you mean `launch`" in mistake.message


def test_a_candidate_without_launch_is_told_how_to_write_one(problem):
    (mistake,) = read_launch_plan("__global__ void k() {}", problem).mistakes
    assert "// amdkernel: launch NAME" in mistake.message


def test_without_a_problem_only_the_form_is_checked():
    assert not read_launch_plan("__global__ void k() {}").mistakes
    assert not read_launch_plan("// amdkernel: launch k grid=[anything] block=[1]").mistakes
    assert read_launch_plan("// amdkernel: launch k grid=[1").mistakes

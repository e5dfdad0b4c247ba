import pytest
from problem_text import REFERENCE, TOML, changed, write_problem

from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem import OutputTolerance
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem


def line_of(text: str, needle: str, *, nth: int = 1) -> int:
    lines = [number for number, line in enumerate(text.splitlines(), 1) if needle in line]
    return lines[nth - 1]


def test_a_problem_has_what_its_files_say(tmp_path):
    problem = load_problem(write_problem(tmp_path / "softmax"))
    assert (problem.name, problem.title, problem.rtol) == ("softmax", "Row softmax", 1e-5)
    assert [(a.name, a.role, a.dtype.name) for a in problem.arguments] == [
        ("x", "in", "f32"), ("y", "out", "f32"), ("rows", "scalar", "i32"), ("cols", "scalar", "i32"),
    ]  # fmt: skip
    assert [(case.name, case.held_out) for case in problem.cases] == [
        ("rows=4, cols=10", False),
        ("rows=7, cols=33", True),
    ]
    assert problem.cases[1].shape_of(problem.arguments[0]) == (7, 33)
    assert problem.reference_line == line_of(REFERENCE, "def reference")


def test_an_array_may_begin_at_any_element_and_that_is_another_problem(tmp_path):
    plain = load_problem(write_problem(tmp_path / "plain"))
    sliced = load_problem(write_problem(tmp_path / "sliced", changed('"normal"', '"normal"\nalign = 4')))
    assert [a.align for a in plain.arguments] == [256] * 4
    assert [a.align for a in sliced.arguments] == [4, 256, 256, 256]
    assert plain.digest != sliced.digest
    assert plain.parts["arguments"] != sliced.parts["arguments"]


def test_a_problem_is_found_by_folder_by_file_and_by_name(tmp_path):
    folder = write_problem(tmp_path / "mine")
    assert load_problem(folder).name == load_problem(folder / "problem.toml").name == "mine"
    assert load_problem("row_softmax").title == "Row softmax"


@pytest.mark.parametrize("name", bundled_problems())
def test_each_bundled_problem_can_be_loaded(name):
    problem = load_problem(name)
    assert any(case.held_out for case in problem.cases), "an agent could fit its kernel to the announced cases"
    assert any(not case.held_out for case in problem.cases)


def test_a_case_for_profiles_is_no_case_of_a_check(tmp_path):
    problem = load_problem(write_problem(tmp_path, changed("held_out = true", "profile = true")))
    assert [case.name for case in problem.cases] == ["rows=4, cols=10"]
    assert [case.name for case in problem.profile_cases] == ["rows=7, cols=33"]


def test_a_problem_with_cases_for_profiles_alone_is_refused(tmp_path):
    text = changed("held_out = true", "profile = true").replace("cols = 10\n", "cols = 10\nprofile = true\n")
    with pytest.raises(ProblemFileError, match="a check would have none"):
        load_problem(write_problem(tmp_path, text))


@pytest.mark.parametrize("name", bundled_problems())
def test_each_bundled_problem_has_a_case_that_fills_a_gpu(name):
    assert load_problem(name).profile_cases


def test_a_name_that_is_no_problem_is_told_with_those_that_are(tmp_path):
    with pytest.raises(ProblemFileError, match=r"vector_ad is neither .*; did you mean vector_add\?"):
        load_problem("vector_ad")
    with pytest.raises(ProblemFileError, match="neither a problem folder nor the name") as caught:
        load_problem(tmp_path / "nothing")
    assert "row_softmax" in str(caught.value.hint)


def test_a_folder_without_reference_is_refused(tmp_path):
    folder = write_problem(tmp_path, reference=None)
    with pytest.raises(ProblemFileError, match=r"no reference\.py") as caught:
        load_problem(folder)
    assert caught.value.file == str(folder / "reference.py")


MISTAKES = [
    # what is written instead of what, in which line it is found, what is said
    ('title = "Row softmax"', 'title = "Row softmax', 1, "not TOML"),
    ('title = "Row softmax"', "title = 3", 1, "`title` must be a string"),
    ('title = "Row softmax"', 'titel = "Row softmax"', 1, "did you mean `title`"),
    ('dtype = "f32"', 'dtype = "f23"', 5, "unknown dtype 'f23'"),
    ('dtype = "f32"', 'dtype = "float16"', 5, "unknown dtype 'float16'"),
    ('dtype = "f32"', "dtype = 32", 5, "unknown dtype 32"),
    ('dtype = "f32"\n', "", 3, "`x` has no `dtype`"),
    ('name = "x"\n', "", 3, "no `name`"),
    ('name = "x"', 'name = "2x"', 4, "cannot be the name"),
    ('name = "x"', 'name = "lambda"', 4, "cannot be the name"),
    ('name = "x"', 'name = "y"', 11, "two arguments are named `y`"),
    ('shape = ["rows", "cols"]', 'shape = ["rows", "colls"]', 24, "'colls', which is not a scalar"),
    ('shape = ["rows", "cols"]', 'shape = ["rows", "cols / 2"]', 6, "use // or ceil_div"),
    ('shape = ["rows", "cols"]', "shape = []", 6, "must be a list"),
    ('shape = ["rows", "cols"]', 'shape = "rows"', 6, "must be a list"),
    ('shape = ["rows", "cols"]', "shape = [1.5]", 6, "not an integer expression"),
    ('shape = ["rows", "cols"]', 'shape = ["rows - 4"]', 24, "empty shape"),
    ('shape = ["rows", "cols"]', 'shape = ["rows * 1000000000"]', 24, "more than 512"),
    ('role = "in"', 'role = "input"', 7, "unknown role 'input'"),
    ('role = "in"\n', "", 3, "has no `role`"),
    ('init = "normal"', 'init = "gaussian"', 8, "is not an init"),
    ('init = "normal"', 'init = "integers(0)"', 8, "two bounds"),
    ('init = "normal"', 'init = "integers(5, 5)"', 24, "hold no integer"),
    ('init = "normal"', 'init = "normal(1)"', 8, "two numbers"),
    ('init = "normal"', "init = 0", 8, "must be a string"),
    ('init = "normal"', 'inti = "normal"', 8, "did you mean `init`"),
    ('role = "out"', 'role = "out"\ninit = "zeros"', 15, "it is an output"),
    ('role = "out"', 'role = "in"', 3, "nothing to compare"),
    ('name = "rows"\ndtype = "i32"', 'name = "rows"\ndtype = "i32"\nrole = "out"', 19, "has no `shape`"),
    ('name = "rows"\ndtype = "i32"', 'name = "rows"\ndtype = "i32"\ninit = "ones"', 19, "it is a scalar"),
    ("rows = 4\n", "", 24, "no value for the scalar `rows`"),
    ("rows = 4", "rows = 4.5", 25, "must be a whole number"),
    ("rows = 4", "rows = true", 25, "must be a number"),
    ("rows = 4", 'rows = "4"', 25, "must be a number"),
    ("rows = 4", "rows = 3000000000", 25, "does not fit into i32"),
    ("rows = 4", "rows = 4\nx = 5", 26, "is an array"),
    ("held_out = true", 'held_out = "yes"', 31, "true or false"),
    ("held_out = true", "held_out = true\nprofile = true", 32, "cannot be held out"),
    ("held_out = true", "profile = 1", 31, "`profile` must be true or false"),
    ("rtol = 1e-5", "rtol = -1", 34, "`rtol` must be"),
    ("rtol = 1e-5", "atol = 1e-5", 34, "unknown key `atol`"),
    ("rtol = 1e-5", "[ranges]\nrow = [1, 9]", 35, "the cases have no value for `row`"),
    ("rtol = 1e-5", "[ranges]\nx = [1, 9]", 35, "the cases have no value for `x`"),
    ("rtol = 1e-5", "[ranges]\nrows = 9", 35, "must be [min, max] or { min"),
    ("rtol = 1e-5", "[ranges]\nrows = [1]", 35, "must be [min, max] or { min"),
    ("rtol = 1e-5", "[ranges]\nrows = { min = 1 }", 35, "must be [min, max] or { min"),
    ("rtol = 1e-5", "[ranges]\nrows = { min = 1, max = 9, step = 2 }", 35, "must be [min, max] or { min"),
    ("rtol = 1e-5", "[ranges]\nrows = [1, 9.5]", 35, "`max` of `rows` must be a whole number"),
    ("rtol = 1e-5", "[ranges]\nrows = [true, 9]", 35, "`min` of `rows` must be a whole number"),
    ("rtol = 1e-5", "[ranges]\nrows = { min = 1, max = 9, multiple = 0 }", 35, "`multiple` of `rows` must be at least"),
    ("rtol = 1e-5", "[ranges]\ncols = [1, 99]\nrows = [9, 1]", 36, "the range of `rows` is empty"),
    ("rtol = 1e-5", "[ranges]\nrows = [4, 3000000000]", 35, "does not fit into i32"),
    ("rtol = 1e-5", "[ranges]\nrows = [1, 5]", 35, "the case rows=7, cols=33 is outside the range of `rows`"),
    ("rtol = 1e-5", "[ranges]\nrows = { min = 2, max = 8, multiple = 2 }", 35, "is outside the range of `rows`"),
    ("rtol = 1e-5", "[ranges]\nrows = [0, 9]", 35, "(rows=0), `x` has the empty shape [0, 10]"),
    ('title = "Row softmax"', "ranges = 3", 1, "`ranges` must be a table"),
    ("rtol = 1e-5", "y = 1e-5", 34, "`y` must be a table: [tolerance.y]"),
    ("rtol = 1e-5", "[tolerance.x]\nrtol = 1e-5", 34, "unknown key `x`"),
    ("rtol = 1e-5", "[tolerance.rtol]\nsteps = 1", 34, "`rtol` must be a number"),
    ("rtol = 1e-5", "[tolerance.y]\nrtoll = 1", 35, "did you mean `rtol`"),
    ("rtol = 1e-5", "[tolerance.y]\nrtol = 1", 35, "`rtol` must be a number from 0 to below 1"),
    ("rtol = 1e-5", "[tolerance.y]\nrtol = nan", 35, "`rtol` must be a number from 0 to below 1"),
    ("rtol = 1e-5", "[tolerance.y]\natol = -1", 35, "`atol` must be a number from 0"),
    ("rtol = 1e-5", "[tolerance.y]\natol = inf", 35, "`atol` must be a number from 0"),
    ("rtol = 1e-5", "[tolerance.y]\nsteps = 1.5", 35, "`steps` must be a whole number"),
    ("rtol = 1e-5", "[tolerance.y]\nsteps = true", 35, "`steps` must be a whole number"),
    ("rtol = 1e-5", "[tolerance.y]\nsteps = -1", 35, "`steps` must be a whole number"),
    ("rtol = 1e-5", "[tolerance.y]\nmax_bias = 'no'", 35, "`max_bias` must be a number from 0"),
    ("rtol = 1e-5", "[tolerance.y]\nmatched_ratio = 0.99", 35, "`matched_ratio` needs `max_error`"),
    ("rtol = 1e-5", "[tolerance.y]\nmax_error = 0.1", 35, "`max_error` needs `matched_ratio`"),
    ("rtol = 1e-5", "[tolerance.y]\nmatched_ratio = 0.1\nmax_error = 1", 35, "from 0.5 to 1"),
    ("rtol = 1e-5", "[tolerance.y]\nmax_error = 1\nmatched_ratio = 0.99", 36, "for types of 1 or 2 bytes, not f32"),
]


@pytest.mark.parametrize(("old", "new", "line", "said"), MISTAKES, ids=[m[3] + " " + m[1][:20] for m in MISTAKES])
def test_a_mistake_is_one_sentence_with_file_and_line(tmp_path, old, new, line, said):
    folder = write_problem(tmp_path, changed(old, new))
    with pytest.raises(ProblemFileError) as caught:
        load_problem(folder)
    error = caught.value
    assert said in error.message, error.message
    assert error.file == str(folder / "problem.toml")
    assert error.line == line, error.message


def test_each_output_may_have_a_tolerance_of_its_own(tmp_path):
    whole = changed('name = "y"\ndtype = "f32"', 'name = "y"\ndtype = "f16"')
    own = "rtol = 1e-5\ny = {rtol = 1e-3, atol = 0, steps = 2, matched_ratio = 0.99, max_error = 0.1, max_bias = 1}"
    problem = load_problem(write_problem(tmp_path, changed("rtol = 1e-5", own, whole)))
    assert problem.rtol == 1e-5
    assert problem.tolerances == {"y": OutputTolerance(1e-3, 0.0, 2, 0.99, 0.1, 1.0)}


def test_an_output_called_rtol_may_have_a_tolerance(tmp_path):
    named = changed('name = "y"', 'name = "rtol"')
    problem = load_problem(write_problem(tmp_path, changed("rtol = 1e-5", "[tolerance.rtol]\nsteps = 1", named)))
    assert (problem.rtol, problem.tolerances) == (None, {"rtol": OutputTolerance(steps=1)})


@pytest.mark.parametrize(("gone", "said"), [("[[cases]]", "no [[cases]]"), ("[[arguments]]", "no [[arguments]]")])
def test_a_problem_needs_cases_and_arguments(tmp_path, gone, said):
    kept = [part for part in TOML.replace("[tolerance]", "\0[tolerance]").split("\n\n") if not part.startswith(gone)]
    folder = write_problem(tmp_path, "\n\n".join(kept).replace("\0", ""))
    with pytest.raises(ProblemFileError) as caught:
        load_problem(folder)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("reference", "line", "said"),
    [
        ("def reference(x:\n  pass\n", 1, "not Python"),
        ("import numpy\n\nx = (\n", 3, "not Python"),
        ("def refrence(x):\n    return {}\n", 1, "defines no function"),
    ],
)
def test_a_broken_reference_is_found_before_anything_runs(tmp_path, reference, line, said):
    folder = write_problem(tmp_path, reference=reference)
    with pytest.raises(ProblemFileError, match=said) as caught:
        load_problem(folder)
    assert (caught.value.file, caught.value.line) == (str(folder / "reference.py"), line)


def test_a_wrong_dtype_gets_the_right_one_suggested(tmp_path):
    folder = write_problem(tmp_path, changed('dtype = "f32"', 'dtype = "bfloat16"'))
    with pytest.raises(ProblemFileError) as caught:
        load_problem(folder)
    assert "did you mean bf16?" in str(caught.value.hint)


def test_a_scalar_that_is_no_argument_may_stand_in_the_cases(tmp_path):
    text = TOML.replace("cols = 10", "cols = 10\nblocks = 3").replace("cols = 33", "cols = 33\nblocks = 5")
    problem = load_problem(write_problem(tmp_path, changed('shape = ["rows", "cols"]', 'shape = ["blocks"]', text)))
    assert [case.shape_of(problem.arguments[0]) for case in problem.cases] == [(3,), (5,)]


def test_inline_tables_have_lines_too(tmp_path):
    text = (
        'arguments = [\n  {name = "y", dtype = "f32", shape = ["n"], role = "out"},\n  {name = "n", dtype = "i3"},\n]\n'
    )
    folder = write_problem(tmp_path, text + "cases = [{n = 3}]\n")
    with pytest.raises(ProblemFileError, match="unknown dtype") as caught:
        load_problem(folder)
    assert caught.value.line == 3


def test_a_file_that_is_not_utf8_is_refused_with_its_line(tmp_path):
    folder = write_problem(tmp_path)
    (folder / "problem.toml").write_bytes(b'title = "x"\n# \xff\n')
    with pytest.raises(ProblemFileError, match="not UTF-8") as caught:
        load_problem(folder)
    assert caught.value.line == 2

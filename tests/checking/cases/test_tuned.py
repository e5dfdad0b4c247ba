from amdkernel_mcp.checking.cases.tuned import MOST, check_combinations, other_combinations, with_tuning
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.results.kernels import CheckResult, Finding


def plan(*lines):
    return read_launch_plan("\n".join(f"// amdkernel: {line}" for line in lines))


CORRECT = CheckResult(verdict="correct", reason="all 2 cases are correct")


def answer(lines, bad=None):
    """The answer about a plan whose combinations have the results of `bad`; and the flags that were tried."""
    tried = []

    def check_one(one, name):
        tried.append(" ".join(one.flags()))
        return (bad or {}).get(name, CORRECT)

    return check_combinations(CORRECT, plan(*lines), check_one), tried


def test_a_plan_without_tune_has_nothing_else_to_check():
    assert answer(["launch k grid=[1] block=[64]"]) == (CORRECT, [])


def test_every_combination_is_tried_but_the_one_that_was_checked_already():
    result, tried = answer(["tune TILE=[16,32] WAVES=[2,4]"])
    assert tried == ["-DTILE=16 -DWAVES=4", "-DTILE=32 -DWAVES=2", "-DTILE=32 -DWAVES=4"]
    assert result.reason.endswith("correct; all 4 combinations of `tune` are correct")


def test_what_build_defines_was_checked_already():
    _, tried = answer(["tune TILE=[16,32,64]", "build -DTILE=32 -O2"])
    assert tried == ["-O2 -DTILE=16", "-O2 -DTILE=64"]


def test_a_value_of_build_that_the_list_lacks_does_not_replace_one_of_the_list():
    result, tried = answer(["tune TILE=[16,32]", "build -DTILE=8"])
    assert tried == ["-DTILE=16", "-DTILE=32"]
    assert "all 3 combinations" in result.reason


def test_of_many_combinations_each_value_is_tried():
    lists = {"A": range(20), "B": range(7), "C": range(3)}
    line = "tune " + " ".join(f"{name}=[{','.join(map(str, values))}]" for name, values in lists.items())
    result, tried = answer([line])
    for name, values in lists.items():
        seen = {
            part for flags in (*tried, "-DA=0 -DB=0 -DC=0") for part in flags.split() if part.startswith(f"-D{name}=")
        }
        assert seen == {f"-D{name}={value}" for value in values}
    assert "-DA=19 -DB=6 -DC=2" in tried
    assert len(tried) < MOST
    assert f"{len(tried) + 1} of 420 combinations" in result.reason
    assert "but each value was tried" in result.reason


def test_a_list_beyond_all_bounds_is_sampled_and_the_answer_says_so():
    result, tried = answer([f"tune A=[{','.join(map(str, range(1000)))}] B=[1,2]"])
    assert len(tried) < MOST
    assert {"-DA=999 -DB=2"} <= set(tried)
    assert "were not checked, 9" in result.reason
    assert "values among them" in result.reason


def test_the_first_combination_that_fails_is_the_answer_with_its_name():
    wrong = CheckResult(
        verdict="incorrect", reason="case n=3: bad", findings=[Finding(kind="race", message="a race", line=4)]
    )
    result, tried = answer(["tune TILE=[16,32,64]"], {"TILE=32": wrong})
    assert (result.verdict, result.reason) == ("incorrect", "TILE=32: case n=3: bad")
    assert [(finding.message, finding.line) for finding in result.findings] == [("TILE=32: a race", 4)]
    assert tried == ["-DTILE=32"]


def test_the_values_of_a_wrong_plan_are_named_and_no_others_tried():
    wrong = CheckResult(verdict="incorrect", reason="case n=3: bad")
    result = check_combinations(wrong, plan("tune TILE=[16,32]"), lambda _plan, _name: CORRECT)
    assert result.reason == "TILE=16: case n=3: bad"


def test_a_combination_that_cannot_be_launched_is_named_and_does_not_fail_the_kernel():
    invalid = CheckResult(verdict="invalid", reason="does not compile: line 3: LDS")
    result, _ = answer(["tune TILE=[16,32,64]"], {"TILE=64": invalid})
    assert result.verdict == "correct"
    assert result.reason.endswith(
        "; 2 of 3 combinations of `tune` are correct; TILE=64 cannot be launched: does not compile: line 3: LDS"
    )


def test_a_combination_is_a_plan_of_its_own():
    whole = plan("tune TILE=[16,32]", "build -O2", "launch k grid=[ceil_div(n, TILE)] block=[TILE]")
    one = with_tuning(whole, other_combinations(whole)[0])
    assert (one.flags(), one.constants()) == (("-O2", "-DTILE=32"), {"TILE": 32})

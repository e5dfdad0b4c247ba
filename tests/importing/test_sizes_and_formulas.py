"""The numbers in a module's text and the formulas that are found for them; no torch is needed for these."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sandbox" / "modules"))

from module_fit import fit, value
from module_sizes import find_sizes, load

TEXT = """M = 1024 * 2
depth, height = 16, 32
shape = (M, 64)
scale = 0.5
class Model:
    size = 99
def get_inputs():
    return [M, depth, height, shape, 128]
def other():
    return 77
"""


def test_the_sizes_of_a_text_are_its_whole_numbers_outside_classes_and_other_functions():
    found = {each.name: each.value for each in find_sizes(TEXT)}
    assert found == {"M": 2048, "depth": 16, "height": 32, "shape": 64, "size": 128}


def test_a_text_is_run_with_other_numbers_and_what_follows_from_them():
    places = {each.name: each.position for each in find_sizes(TEXT)}
    names = load(TEXT, {places["M"]: 6, places["size"]: 5}, "<module>")
    assert names["get_inputs"]() == [6, 16, 32, (6, 64), 5]


def test_a_number_in_a_call_is_not_named_like_the_call_s_result():
    assert [each.name for each in find_sizes("def get_inputs():\n    x = draw(30, 40)\n")] == ["size", "size_2"]


def test_names_that_c_or_python_reserve_are_changed():
    assert [each.name for each in find_sizes("int = 5\nregister = 6\nlambda_ = 7\nint = 8\n")] == [
        "int_", "register_", "lambda_", "int__2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "number",
    [
        "7",
        "n",
        "n - 2",
        "(n + 1) // 2",
        "(n - 1) * 3 + 5",
        "2 * n * m",
        "n + 3 * m - 1",
        "(n - 2) // 2 * m",
        "3 * n * n",
        "(n // 2) * (n // 2) * m",
    ],
)
def test_a_formula_is_found_that_holds_for_other_sizes_too(number):
    found = fit(sample(number), {"n": 20, "m": 12})
    assert found is not None
    assert all(value(found, sizes) == value(number, sizes) for sizes in ({"n": 45, "m": 7}, {"n": 2, "m": 400}))


@pytest.mark.parametrize("number", ["n % 5", "n // m", "n * n + m", "n * m % 7"])
def test_no_formula_is_given_where_none_of_the_forms_fits(number):
    assert fit(sample(number), {"n": 20, "m": 12}) is None


def test_a_divisor_is_not_guessed_from_one_pair_of_samples():
    sizes = [18, 17, 19, 20, 21, 22, 36]
    assert fit([({"n": n}, n // 11) for n in sizes], {"n": 18}) is None


def sample(number):
    base = {"n": 20, "m": 12}
    choices = [base, *({**base, "n": n} for n in range(15, 33)), *({**base, "m": m} for m in range(8, 25))]
    return [(sizes, value(number, sizes)) for sizes in choices]

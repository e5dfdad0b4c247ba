import pytest
from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.expressions import LARGEST, Expression, ExpressionError, parse_expression

SCALARS = {"rows": 10, "cols": 7, "zero": 0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rows", 10),
        ("rows + cols * 2", 24),
        ("(rows + cols) * 2", 34),
        ("rows - cols - 1", 2),
        ("ceil_div(rows, 3)", 4),
        ("ceil_div(rows * cols, 64) * 64", 128),
        ("-rows // 3", -4),
        ("rows % 4 + +cols", 9),
        ("min(rows, cols, 3)", 3),
        ("max(min(rows, cols), 8)", 8),
        ("next_power_of_2(rows) + 100 * next_power_of_2(8) + 10000 * next_power_of_2(-3)", 10816),
        (256, 256),
        ("0064", 64),
        ("000", 0),
        ("rows\n+ cols", 17),
        ("+".join(["rows"] * 100), 1000),
        ("  256\t", 256),
    ],
)
def test_an_expression_has_pythons_value(text, value):
    assert parse_expression(text).value(SCALARS) == value


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("rows / 2", 5, "use // or ceil_div"),
        ("rows ** 2", 6, "was not expected"),
        ("rows << 2", 5, "was not expected"),
        ("(rows", 5, "ends too early"),
        ("rows)", 4, "was not expected"),
        ("rows cols", 5, "'cols'"),
        ("min(rows)", 0, "two or more arguments"),
        ("ceil_div(1, 2, 3)", 0, "two arguments"),
        ("next_power_of_2(1, 2)", 0, "one argument"),
        ("log(rows)", 0, "no function 'log'"),
        ("1.5", 1, "was not expected"),
        ("rows[0]", 4, "was not expected"),
        ("rows.bit_length()", 4, "was not expected"),
        ("é", 0, "was not expected"),
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("9" * 30, 0, "64 bits"),
        (2**63, 0, "64 bits"),
        ("1 + lambda", 4, "cannot be a name"),
        ("1, 2", 1, "was not expected"),
        ("min(1, )", 7, "was not expected"),
        ("2 (3)", 2, "was not expected"),
        ("-" * 60 + "1", 40, "nested"),
        ("(" * 60 + "1" + ")" * 60, 40, "nested"),
        ("1+" * 300 + "1", 0, "at most 500 characters"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_place(text, position, said):
    with pytest.raises(ExpressionError, match=said.replace("(", r"\(")) as caught:
        parse_expression(text)
    assert caught.value.position == position, caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows // zero", "divides by zero"),
        ("rows % zero", "divides by zero"),
        ("ceil_div(rows, zero)", "divides by zero"),
        (f"{LARGEST} * 2", "64 bits"),
        ("depth + 1", "'depth', which is not a scalar"),
        ("eps * 2", "only integers"),
    ],
)
def test_a_value_that_does_not_exist_is_an_error(text, said):
    with pytest.raises(ExpressionError, match=said):
        parse_expression(text).value({**SCALARS, "eps": 0.5})


def test_a_number_of_5000_digits_is_refused_as_text_and_as_an_integer():
    for number in (10**5000, "9" * 499, "-" + "9" * 400):
        with pytest.raises(ExpressionError, match="64 bits"):
            parse_expression(number)


def test_an_expression_knows_its_names():
    assert parse_expression("min(rows, cols) * rows + 3").names == {"rows", "cols"}


def _texts() -> st.SearchStrategy[str]:
    leaves = st.integers(0, 100).map(str) | st.sampled_from(["rows", "cols"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return (
            st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(lambda t: f"{t[0]} {t[1]} {t[2]}")
            | inner.map(lambda t: f"({t})")
            | inner.map(lambda t: f"-{t}")
            | st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
        )

    return st.recursive(leaves, grow, max_leaves=12)


def read(text: str) -> Expression | None:
    """The expression, or None where it is refused."""
    try:
        return parse_expression(text)
    except ExpressionError:
        return None


def value_or_reason(text: str, scalars: dict[str, int]) -> int | str:
    try:
        return parse_expression(text).value(scalars)
    except ExpressionError as error:
        return error.message


@given(_texts(), st.integers(-50, 50), st.integers(-50, 50))
def test_arithmetic_agrees_with_python(text, rows, cols):
    scalars = {"rows": rows, "cols": cols}
    ours = value_or_reason(text, scalars)
    if isinstance(ours, str):
        assert any(reason in ours for reason in ("divides by zero", "64 bits", "nested"))
    else:
        assert ours == eval(text, {"min": min, "max": max}, scalars)


@given(st.text(alphabet="rowscl0123456789+-*/%(),. _[]\"'\n\té", max_size=40))
def test_any_text_is_read_or_refused(text):
    if expression := read(text):
        assert expression.text == text.strip()

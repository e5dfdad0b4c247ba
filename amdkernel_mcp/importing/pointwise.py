"""Operations on single elements, as C++ expressions."""

from __future__ import annotations

from collections.abc import Sequence

# {0}, {1}, {2}: the operands, in parentheses and already of the type that is computed with.
_EXPRESSIONS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "rsub": "{1} - {0}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "neg": "-{0}", "abs": "{0} < 0 ? -{0} : {0}", "square": "{0} * {0}", "reciprocal": "1 / {0}",
    "exp": "exp({0})", "exp2": "exp2({0})", "expm1": "expm1({0})", "log": "log({0})", "log2": "log2({0})",
    "log10": "log10({0})", "log1p": "log1p({0})", "sqrt": "sqrt({0})", "rsqrt": "1 / sqrt({0})", "cbrt": "cbrt({0})",
    "sin": "sin({0})", "cos": "cos({0})", "tan": "tan({0})", "asin": "asin({0})", "acos": "acos({0})",
    "atan": "atan({0})", "sinh": "sinh({0})", "cosh": "cosh({0})", "tanh": "tanh({0})", "asinh": "asinh({0})",
    "acosh": "acosh({0})", "atanh": "atanh({0})", "erf": "erf({0})", "erfc": "erfc({0})", "atan2": "atan2({0}, {1})",
    "floor": "floor({0})", "ceil": "ceil({0})", "trunc": "trunc({0})", "round": "rint({0})",
    "sigmoid": "1 / (1 + exp(-{0}))", "silu": "{0} / (1 + exp(-{0}))", "relu": "{0} > 0 ? {0} : 0",
    "sign": "{0} > 0 ? 1 : {0} < 0 ? -1 : 0", "maximum": "{0} > {1} || {0} != {0} ? {0} : {1}",
    "minimum": "{0} < {1} || {0} != {0} ? {0} : {1}", "fmax": "fmax({0}, {1})", "fmin": "fmin({0}, {1})",
    "pow": "pow({0}, {1})", "fmod": "fmod({0}, {1})", "remainder": "{0} - floor({0} / {1}) * {1}",
    "where": "{0} ? {1} : {2}",
    "gt": "{0} > {1}", "ge": "{0} >= {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "eq": "{0} == {1}",
    "ne": "{0} != {1}", "logical_and": "{0} && {1}", "logical_or": "{0} || {1}", "logical_not": "!{0}",
    "logical_xor": "!{0} != !{1}", "isnan": "{0} != {0}", "isinf": "isinf({0})", "isfinite": "isfinite({0})",
    "signbit": "signbit({0})", "copysign": "copysign({0}, {1})", "hypot": "hypot({0}, {1})", "lgamma": "lgamma({0})",
}  # fmt: skip
_WHOLE = {
    "bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}", "bitwise_xor": "{0} ^ {1}", "bitwise_not": "~{0}",
    "shift_left": "{0} << {1}", "remainder": "({0} % {1} + {1}) % {1}", "fmod": "{0} % {1}",
}  # fmt: skip
COMPARISONS = frozenset(("gt", "ge", "lt", "le", "eq", "ne", "isnan", "isinf", "isfinite", "signbit"))
CONVERSIONS = frozenset(("convert_element_type", "_to_copy", "to", "device_put"))


def is_pointwise(op: str) -> bool:
    """Whether the operation computes an element from the elements at the same place."""
    return op in _EXPRESSIONS or op in _WHOLE or op in CONVERSIONS or op == "clamp"


def expression(op: str, operands: Sequence[str], dtype: str) -> str | None:
    """The expression; None where the operation takes other operands."""
    if op in CONVERSIONS:
        return operands[0]
    pattern = (_WHOLE.get(op) if dtype in ("i64", "i32", "i16", "i8", "u8") else None) or _EXPRESSIONS.get(op)
    if dtype == "bool" and op in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"):
        pattern = {"bitwise_not": "!{0}"}.get(op, _WHOLE[op])
    try:
        return pattern.format(*operands) if pattern else None
    except IndexError:
        return None

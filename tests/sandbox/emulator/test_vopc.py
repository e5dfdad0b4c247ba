"""Vector compares: each relation on each type."""

from collections.abc import Callable

import numpy as np
import pytest
from values import both_masks
from waves import State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

pytestmark = pytest.mark.sandbox

Array = np.ndarray
FLOATS: dict[str, Callable[[Array, Array], Array]] = {
    "f": lambda a, b: a != a * 0 + a, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "lg": lambda a, b: (a < b) | (a > b), "ge": lambda a, b: a >= b,
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)), "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b), "neq": lambda a, b: ~(a == b), "nlt": lambda a, b: ~(a < b),
    "tru": lambda a, b: a * 0 == a * 0,
}  # fmt: skip
FLOATS["f"] = lambda a, b: np.zeros(len(a), dtype=bool)
FLOATS["tru"] = lambda a, b: np.ones(len(a), dtype=bool)
INTEGERS: dict[str, Callable[[Array, Array], Array]] = {
    "f": FLOATS["f"], "lt": FLOATS["lt"], "eq": FLOATS["eq"], "le": FLOATS["le"], "gt": FLOATS["gt"],
    "ne": lambda a, b: a != b, "ge": FLOATS["ge"], "t": FLOATS["tru"],
}  # fmt: skip
SOURCES = {
    "f32": ("v0", "v1", 0, 1), "f64": ("v[4:5]", "v[6:7]", 4, 6), "f16": ("v13", "v14", 13, 14),
    "u32": ("v10", "v11", 10, 11), "i32": ("v10", "v11", 10, 11), "u16": ("v10", "v11", 10, 11),
    "i16": ("v10", "v11", 10, 11), "u64": ("v[16:17]", "v[18:19]", 16, 18), "i64": ("v[16:17]", "v[18:19]", 16, 18),
}  # fmt: skip
CLASSES = ("f16", "f32", "f64")
COMPARES = [(relation, kind) for kind in SOURCES for relation in (FLOATS if kind.startswith("f") else INTEGERS)]


def line(relation: str, kind: str, prefix: str = "v_cmp") -> str:
    a, b, _, _ = SOURCES[kind]
    return f"{prefix}_{relation}_{kind} s[10:11], {a}, {b}"


def classified(x: Array) -> Array:
    """The class bit of each value: 1 signalling, 2 quiet NaN, then -inf … +inf. Our values have no signalling NaN."""
    tiny = (x != 0) & (abs(x) < np.finfo(x.dtype).tiny)
    normal = np.isfinite(x) & (x != 0) & ~tiny
    sign = np.signbit(x)
    order = [np.isinf(x) & sign, normal & sign, tiny & sign, (x == 0) & sign]
    order += [(x == 0) & ~sign, tiny & ~sign, normal & ~sign, np.isinf(x) & ~sign]
    return sum((mask.astype(int) << (2 + n) for n, mask in enumerate(order)), np.isnan(x).astype(int) << 1)


LINES = [
    *(line(relation, kind) for relation, kind in COMPARES),
    *(line(relation, kind, "v_cmpx") for relation, kind in COMPARES),
    *(f"v_cmp_class_{kind} s[10:11], {SOURCES[kind][0]}, v12" for kind in CLASSES),
    *(f"v_cmpx_class_{kind} s[10:11], {SOURCES[kind][0]}, v12" for kind in CLASSES),
    "v_cmpx_lt_f32_e32 vcc, v0, v1",
    "v_cmp_lt_f32 s[10:11], -v0, |v1|",
    "v_cmp_gt_i32_e32 vcc, 5, v10",
]


@pytest.fixture(scope="module")
def results(sandbox: Sandbox) -> dict[str, list[tuple[State, State]]]:
    given = [(text, state) for text in LINES for state in both_masks()]
    found: dict[str, list[tuple[State, State]]] = {}
    for (text, before), after in zip(given, run_waves(sandbox, given), strict=True):
        assert not after.fault, f"{text}: {after.fault}"
        found.setdefault(text, []).append((before, after))
    return found


def mask_of(lanes: Array) -> int:
    return sum(1 << int(n) for n in np.flatnonzero(lanes))


def scalar_pair(state: State) -> int:
    return int(state.s[6]) | int(state.s[7]) << 32  # s[10:11]


@each_row(("relation", "kind"), COMPARES)
def test_a_compare_sets_the_bits_of_active_lanes_for_which_it_holds(results, relation: str, kind: str) -> None:
    holds = (FLOATS if kind.startswith("f") else INTEGERS)[relation]
    for before, after in results[line(relation, kind)]:
        a, b = (getattr(before, kind)(register) for register in SOURCES[kind][2:])
        assert scalar_pair(after) == mask_of(holds(a, b) & before.active()), line(relation, kind)
        assert after.exec == before.exec, "a plain compare leaves EXEC alone"


@each_row(("relation", "kind"), COMPARES)
def test_cmpx_writes_exec_as_well(results, relation: str, kind: str) -> None:
    holds = (FLOATS if kind.startswith("f") else INTEGERS)[relation]
    for before, after in results[line(relation, kind, "v_cmpx")]:
        a, b = (getattr(before, kind)(register) for register in SOURCES[kind][2:])
        assert after.exec == scalar_pair(after) == mask_of(holds(a, b) & before.active())


@each_row("kind", CLASSES)
def test_class_looks_up_what_kind_of_number_a_value_is(results, kind: str) -> None:
    for before, after in results[f"v_cmp_class_{kind} s[10:11], {SOURCES[kind][0]}, v12"]:
        found = classified(getattr(before, kind)(SOURCES[kind][2])) & before.u32(12).astype(int)
        assert scalar_pair(after) == mask_of((found != 0) & before.active())
    for (_, after), (_, narrowed) in zip(
        results[f"v_cmp_class_{kind} s[10:11], {SOURCES[kind][0]}, v12"],
        results[f"v_cmpx_class_{kind} s[10:11], {SOURCES[kind][0]}, v12"],
        strict=True,
    ):
        assert narrowed.exec == scalar_pair(narrowed) == scalar_pair(after)


def test_source_modifiers_and_constants_work_in_compares(results) -> None:
    for before, after in results["v_cmp_lt_f32 s[10:11], -v0, |v1|"]:
        assert scalar_pair(after) == mask_of((-before.f32(0) < abs(before.f32(1))) & before.active())
    for before, after in results["v_cmp_gt_i32_e32 vcc, 5, v10"]:
        assert after.vcc == mask_of((before.i32(10) < 5) & before.active())

"""Cases of vector instructions: a line, what v20 holds afterwards as a function of the registers before, and how exact."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rdna_names import renamed
from values import POISON, both_masks, close, same
from waves import TARGET, State, is_rdna, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import each_row

Expected = Callable[[State], np.ndarray]


@dataclass(frozen=True)
class Case:
    line: str
    kind: str  # of the result in v20 (or v[20:21]): f32, f64, f16, u32, i32, u16, i16, u64, i64
    expected: Expected
    ulp: float = 0
    keeps_upper: bool = False  # a 16-bit result that leaves the upper half of its register alone


def table(kind: str, rows: Sequence[tuple[Any, ...]], **options: bool) -> list[Case]:
    return [Case(row[0], kind, row[1], *row[2:], **options) for row in rows]


class Lines:
    """All cases of a module, run once, with all lanes active and with some inactive."""

    def __init__(self, sandbox: Sandbox, cases: Sequence[Case], target: str = TARGET) -> None:
        before = [(line, state) for line in dict.fromkeys(case.line for case in cases) for state in both_masks()]
        self.results: dict[str, list[tuple[State, State]]] = {}
        self.halves_stay = is_rdna(target)  # there a result of 16 bits always leaves the other half alone
        given = [(renamed(line, target) if is_rdna(target) else line, state) for line, state in before]
        for (line, state), result in zip(before, run_waves(sandbox, given, target), strict=True):
            self.results.setdefault(line, []).append((state, result))

    def check(self, case: Case) -> None:
        """Active lanes hold what is expected, the others what they held."""
        for before, after in self.results[case.line]:
            assert not after.fault, after.fault
            with np.errstate(all="ignore"):
                expected = case.expected(before)
            active, got = before.active(), getattr(after, case.kind)(20)
            good = close(got, expected.astype(np.float64), case.ulp) if case.ulp else same(got, expected)
            bad = np.flatnonzero(active & ~good)
            wrong = [f"lane {n}: {got[n]!r} instead of {expected[n]!r}" for n in bad[:4]]
            assert not wrong, f"{case.line}: {wrong}; v0..2 {before.f32(0)[bad[:4]]} {before.f32(1)[bad[:4]]}"
            self._check_rest(case, before, after, active)

    def _check_rest(self, case: Case, before: State, after: State, active: np.ndarray) -> None:
        assert (after.u32(20)[~active] == POISON).all(), f"{case.line} writes inactive lanes"
        assert after.exec == before.exec, f"{case.line} changes EXEC"
        if case.kind.endswith("16"):
            upper = after.u32(20)[active] >> 16
            assert (upper == (POISON >> 16 if case.keeps_upper or self.halves_stay else 0)).all(), (
                f"{case.line}: upper half {upper[:4]}"
            )


def each_case(cases: Sequence[Case]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """One item for all cases, which lists all that fail."""
    return each_row("case", cases, ids=lambda case: case.line)

"""One call of a reference: a case with the inputs of one seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.problems.problem import Case

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Call:
    """One set of inputs, and so one set of expected outputs."""

    case: Case
    seed: int
    inputs: Mapping[str, Array]
    turn: int = 0  # which seed of the case this is
    what: str = ""  # of inputs that are not those of a seed

"""Tensors whose operations round as float32 does, up or down by chance: runner/rounded_arrays.py for PyTorch.

A module that runs in float64 is run with these operations: each result that float32 cannot hold becomes a float32 value
near it, and what a sum adds up moves by a rounding first. Operations that move values round nothing, since what they
move was rounded when it was made.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

_STEP = 2.0**-23
_LARGEST, _SMALLEST = torch.finfo(torch.float32).max, torch.finfo(torch.float32).tiny
# The names in ATen of what adds up many terms, whatever their overload.
_SUMS = frozenset((
    "sum", "mean", "mm", "bmm", "addmm", "addmv", "mv", "dot", "baddbmm", "convolution", "cumsum", "norm",
    "linalg_vector_norm", "var", "std", "var_mean", "native_layer_norm", "native_batch_norm", "native_group_norm",
    "_softmax", "_log_softmax", "logsumexp", "avg_pool2d", "_adaptive_avg_pool2d",
))  # fmt: skip


class RoundingMode(TorchDispatchMode):  # type: ignore[misc]
    """Within it, each float64 result is rounded by up to `steps` steps of float32; `seed`: of the chance."""

    def __init__(self, seed: int, steps: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)
        self._reach = steps * _STEP

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = func._schema.name.partition("::")[2]
        given = _of_float64(self._moved, args) if name in _SUMS else args
        return _of_float64(self._rounded, func(*given, **(kwargs or {})))

    def _near_one(self, like: torch.Tensor) -> torch.Tensor:
        return 1 + (2 * torch.rand(like.shape, generator=self._generator, dtype=torch.float64) - 1) * self._reach

    def _moved(self, value: torch.Tensor) -> torch.Tensor:
        """Each number moved by up to a rounding, but for whole numbers: float32 adds these exactly."""
        return torch.where(value == value.round(), value, value * self._near_one(value))

    def _rounded(self, value: torch.Tensor) -> torch.Tensor:
        """The tensor with values that float32 holds; changed in place, as views share it."""
        size, nearest = value.abs(), value.float().double()
        wide = (nearest != value) & (size <= _LARGEST) & (size >= _SMALLEST)
        if not wide.any():
            return value
        near = torch.where(wide, (value * self._near_one(value)).float().double(), value)
        if any(step == 0 and length > 1 for step, length in zip(value.stride(), value.shape, strict=True)):
            return near  # its elements share one place
        return value.copy_(near)


def _of_float64(change: Callable[[torch.Tensor], torch.Tensor], values: Any) -> Any:
    def one(value: Any) -> Any:
        return change(value) if isinstance(value, torch.Tensor) and value.dtype == torch.float64 else value

    return tree_map(one, values)

"""The element types that a problem may name, and how exactly each can be computed."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class DType:
    """One element type. `rtol` is the default tolerance; None: integers are compared exactly."""

    name: str
    numpy_name: str  # of NumPy, or of ml_dtypes
    kind: Literal["float", "int"]
    bytes: int
    rtol: float | None
    counts_to: int  # 0, 1, 2 … up to here, exclusive, are exact
    smallest: float
    largest: float  # finite
    steps: int = 0  # by default, the representable values that a result may be away from the rounded reference

    @property
    def sum_epsilon(self) -> float:
        """The relative rounding of sums: those of narrow types run in f32, and those of integers as well."""
        return 2.0 ** (-52 if self.bytes == 8 else -23)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of an array of these."""
        import ml_dtypes
        import numpy

        return numpy.dtype(getattr(ml_dtypes, self.numpy_name, None) or self.numpy_name)


def _float(name: str, numpy_name: str, size: int, rtol: float, precision: int, largest: float) -> DType:
    return DType(name, numpy_name, "float", size, rtol, 2**precision + 1, -largest, largest, steps=1)


def _int(name: str, numpy_name: str, size: int) -> DType:
    bits = 8 * size
    smallest, largest = (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return DType(name, numpy_name, "int", size, None, largest + 1, smallest, largest)


# Tolerances: about four roundings for the narrow types, whose inputs are exact and whose sums run in f32; for f32
# about 170 roundings, which covers sums in any order over the sizes that are checked.
# One step: an f32 result close to the middle of two values of a narrow type may be rounded to either; in denormals of
# every type a step is larger than any relative tolerance.
DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        _float("f16", "float16", 2, 2e-3, 11, 65504.0),
        _float("bf16", "bfloat16", 2, 1.6e-2, 8, 255 * 2.0**120),
        _float("f32", "float32", 4, 1e-5, 24, (2**24 - 1) * 2.0**104),
        _float("f64", "float64", 8, 1e-10, 53, (2**53 - 1) * 2.0**971),
        _float("float8_e4m3fn", "float8_e4m3fn", 1, 0.125, 4, 448.0),
        _float("float8_e4m3fnuz", "float8_e4m3fnuz", 1, 0.125, 4, 240.0),
        _float("float8_e5m2", "float8_e5m2", 1, 0.25, 3, 57344.0),
        _float("float8_e5m2fnuz", "float8_e5m2fnuz", 1, 0.25, 3, 57344.0),
        _int("i8", "int8", 1),
        _int("i16", "int16", 2),
        _int("i32", "int32", 4),
        _int("i64", "int64", 8),
        _int("u8", "uint8", 1),
        _int("u16", "uint16", 2),
        _int("u32", "uint32", 4),
        _int("u64", "uint64", 8),
    )
}

_OTHER_NAMES = {dtype.numpy_name: dtype.name for dtype in DTYPES.values() if dtype.numpy_name != dtype.name} | {
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "int": "i32",
    "fp16": "f16",
    "fp32": "f32",
    "fp64": "f64",
    "fp8": "float8_e4m3fnuz",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
}


def suggest_dtype(name: str) -> str:
    """A hint for a name that is not a dtype: the one that was probably meant, and all names."""
    meant = _OTHER_NAMES.get(name.lower()) or next(iter(difflib.get_close_matches(name.lower(), DTYPES, n=1)), None)
    known = "known are " + ", ".join(DTYPES)
    return f"did you mean {meant}? {known}" if meant else known

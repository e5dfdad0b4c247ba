"""Runs a problem's `reference` on many inputs: `python3 run_reference.py`, in the folder that holds the job.

Reads `job.json` ({"calls": [{"scalars": {...}, "arrays": [names]}], "outputs": [names]}), `reference.py` and
`<call>/<name>.npy`. With "rounding" in the job, a number for each call, the reference computes as float32 would,
off by up to "steps" steps: rounded_arrays.py. Leaves in $OUT `<call>/<name>.npy` and `answer.json`:
{"error": null | {"kind", "message", "line", "call"}, "seconds": [..]}. All of it is untrusted for the reader.

With "parts" in the job, {name: {"shape", "rtol", "epsilon"}} for each call, only the elements at the flat indices of
`<call>/<name>.wanted.npy` are left, and in `<name>.scale.npy` their scale (scale.py).
"""

import importlib
import importlib.util
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_FILE = Path("reference.py").resolve()


class Unusable(Exception):
    """What the reference returned cannot be compared with anything."""


def line_in_reference(error: BaseException) -> int | None:
    """The innermost line of reference.py that an exception passed."""
    if isinstance(error, SyntaxError) and error.filename == str(_FILE):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(_FILE)]
    return lines[-1] if lines else None


def load(name: str) -> Callable[..., Any]:
    """The function of that name in reference.py."""
    spec = importlib.util.spec_from_file_location("reference", _FILE)
    if spec is None or spec.loader is None:
        raise Unusable("reference.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, name)
    if not callable(function):
        raise Unusable(f"`{name}` is not a function")
    return function


def accepted(function: Callable[..., Any], values: dict[str, Any], needed: list[str]) -> dict[str, Any]:
    """`values` without the scalars that the function has no parameter for; arrays are always given."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return values
    names = {parameter.name for parameter in parameters}
    return {name: value for name, value in values.items() if name in names or name in needed}


def as_array(name: str, value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """A result as an array of float64, int64 or uint64; tensors are asked for theirs."""
    for step in ("detach", "cpu"):
        value = getattr(value, step)() if hasattr(value, step) else value
    if "bfloat16" in str(getattr(value, "dtype", "")) and hasattr(value, "double"):
        value = value.double()
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise Unusable(f"`{name}` is not an array: {error}") from None
    if array.dtype == np.bool_:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise Unusable(f"`{name}` has the element type {array.dtype}, which cannot be compared")
    return array.astype(np.float64 if array.dtype.kind == "f" else array.dtype)


def in_reference_form(array: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """Floats as float64, which holds exactly the kernel's values; integers as they are."""
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _part(
    name: str, array: np.ndarray[Any, np.dtype[Any]], part: dict[str, Any], wanted: str, folder: Path
) -> np.ndarray[Any, np.dtype[Any]]:
    """The wanted elements; leaves their scales, which depend on all elements."""
    if list(array.shape) != part["shape"]:
        raise Unusable(f"`{name}` has the shape {list(array.shape)} instead of {part['shape']}")
    chosen = np.load(wanted)
    scales = importlib.import_module("scale").scales(
        array.astype(np.float64), rtol=part["rtol"], epsilon=part["epsilon"]
    )
    np.save(folder / f"{name}.scale.npy", scales.reshape(-1)[chosen], allow_pickle=False)
    return np.ascontiguousarray(array.reshape(-1)[chosen])


def _rounding(arrays: dict[str, Any], seed: int, steps: int) -> dict[str, Any]:
    import rounded_arrays

    rounded_arrays.begin(seed, steps)
    return {name: rounded_arrays.rounded_array(array) for name, array in arrays.items()}


def run(job: dict[str, Any], out: Path, answer: dict[str, Any]) -> None:
    """Call the reference on every input; `answer` says how far it came."""
    function = load("reference")
    for number, call in enumerate(job["calls"]):
        answer["call"] = number
        arrays = {name: in_reference_form(np.load(f"{number}/{name}.npy")) for name in call["arrays"]}
        if "rounding" in job:
            arrays = _rounding(arrays, job["rounding"][number], job["steps"])
        began = time.monotonic()
        result = function(**accepted(function, {**arrays, **call["scalars"]}, call["arrays"]))
        answer["seconds"].append(time.monotonic() - began)
        if not isinstance(result, dict):
            raise Unusable(f"it returned {type(result).__name__}, not a dict such as {{{job['outputs'][0]!r}: array}}")
        folder = out / str(number)
        folder.mkdir()
        for name, value in result.items():
            if name not in job["outputs"]:
                raise Unusable(f"it returned {name!r}, which is not an output (outputs: {', '.join(job['outputs'])})")
            array = as_array(name, value)
            if "parts" in job:
                array = _part(name, array, job["parts"][number][name], f"{number}/{name}.wanted.npy", folder)
            np.save(folder / f"{name}.npy", array, allow_pickle=False)


def printable(text: str) -> str:
    """With lone surrogates spelt out: the reader refuses them."""
    return text.encode("utf-8", "backslashreplace").decode()


def answer_job(work: Callable[[dict[str, Any], Path, dict[str, Any]], None]) -> None:
    """Do the work of one job and leave its answer."""
    out = Path(os.environ["OUT"])
    answer: dict[str, Any] = {"error": None, "call": None, "seconds": []}
    sys.stdout = sys.stderr  # a print in reference.py is for its author
    try:
        work(json.loads(Path("job.json").read_text()), out, answer)
    except Unusable as error:
        answer["error"] = {"kind": "result", "message": printable(str(error))[:500], "line": None}
    except ModuleNotFoundError as error:
        answer["error"] = {
            "kind": "module",
            "message": printable(error.name or str(error))[:500],
            "line": line_in_reference(error),
        }
    except BaseException as error:  # the user's code may raise anything, SystemExit included
        answer["error"] = {
            "kind": "exception",
            "message": printable(f"{type(error).__name__}: {error}")[:500],
            "line": line_in_reference(error),
        }
    (out / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    answer_job(run)

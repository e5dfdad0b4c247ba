"""Finds out how a PyTorch module becomes a problem: `python3 inspect_module.py`, in the folder that holds the job.

Reads `job.json` ({"text", "mode", "sizes"}) and runs the module, which is untrusted. Leaves `answer.json` in $OUT: all
of it is untrusted for the reader, too.
"""

import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch
from module_graph import trace
from module_numerics import Numerics, fewest, run
from module_probe import NotImported, Tensor
from module_search import Found, Search
from module_sizes import unique

_MOST_ARRAYS = 40
_TEXT = 2000
_SEVERAL = 64


def inspect(text: str, mode: str, sizes: dict[str, int], tests: list[dict[str, int]]) -> dict[str, Any]:
    """The answer for one module. Raises NotImported."""
    search = Search(text, mode, sizes, tests)
    found = search.run()
    base = found.base
    if not any(isinstance(each, Tensor) for each in base.inputs):
        raise NotImported("input", "get_inputs() returns no tensor")
    numerics = run(text, found.values(), mode, base.parameters)
    if found.ranges:
        smallest = min(torch.Size(each.shape).numel() for each in base.outputs)
        _raise_lows(text, mode, found, min(_SEVERAL, smallest) if numerics.cancels else 1)
    used = {path: tensor for path, tensor in base.weights.items() if path in numerics.used}
    if len(base.inputs) + len(used) + len(base.outputs) > _MOST_ARRAYS:
        raise NotImported(
            "arguments", f"a kernel would have {len(used)} weights; at most {_MOST_ARRAYS} arrays are allowed"
        )
    taken = {each.name for each in found.free}
    answer = _described(found, numerics, taken)
    answer |= {
        "sizes": [
            {"name": each.name, "value": each.value, "low": each.low, "high": each.high, "multiple": each.multiple,
             "positions": each.positions}
            for each in found.free
        ],
        "changed": [
            {"name": each.name, "value": each.value, "original": each.original}
            for each in found.groups if each.value != each.original],
        "fixed": [
            [at, each.value]
            for each in found.groups if each not in found.free and each.value != each.original
            for at in each.positions
        ],
        "ranges": found.ranges, "held_out": found.held_out, "tests": found.tests,
        "unused": numerics.unused, "precision": numerics.precision, "rtol": numerics.rtol,
        "notes": list(numerics.notes),
    }  # fmt: skip
    return answer | trace(text, mode, found, numerics, answer)


def _raise_lows(text: str, mode: str, found: Found, least: int) -> None:
    """Ranges begin where the outputs are numbers, at least so many: a deviation of one element is not a number, and a
    tolerance that follows the magnitude of all elements needs some."""
    listed = [found.held_out, *found.tests]
    most = {each.name: min([each.value, *(sizes[each.name] for sizes in listed if sizes)]) for each in found.free}
    for each in found.free:
        while each.low < most[each.name] and not fewest(text, found.values({each.name: each.low}), mode):
            each.low = min(
                most[each.name], max(each.low + each.multiple, 2 * each.low // each.multiple * each.multiple)
            )
    lows = {each.name: each.low for each in found.free}
    now = fewest(text, found.values(lows), mode)
    while now < least:
        for each in sorted(found.free, key=lambda one: lows[one.name] / one.value):
            larger = {**lows, each.name: min(most[each.name], 2 * lows[each.name])}
            count = fewest(text, found.values(larger), mode)
            if count > now:
                lows, now = larger, count
                break
        else:
            break
    for each in found.free:
        each.low = lows[each.name]


def _described(found: Found, numerics: Numerics, taken: set[str]) -> dict[str, Any]:
    """Inputs, weights and outputs with their names and formulas; the formulas are in the order of Look.numbers()."""
    base, formulas = found.base, iter(found.formulas)

    def tensor(name: str, one: Tensor, init: str | None) -> dict[str, Any]:
        shape = [next(formulas) for _ in one.shape]
        if one.bounds:
            init = f"integers({next(formulas)}, {next(formulas)})"
        return {"name": name, "dtype": one.dtype, "shape": shape, "init": init}

    inputs: list[dict[str, Any]] = []
    for name, one in zip(base.names, base.inputs, strict=True):
        if isinstance(one, Tensor):
            inputs.append(tensor(unique(name, taken), one, one.init))
        else:
            inputs.append({"name": unique(name, taken), "value": one})
    weights = [
        {"path": path}
        | tensor(unique(path.replace(".", "_"), taken) if path in numerics.used else "", one, numerics.inits[path])
        for path, one in base.weights.items()
    ]
    several = len(base.outputs) > 1
    outputs = [
        tensor(unique(f"out{number}" if several else "out", taken), one, None)
        for number, one in enumerate(base.outputs)
    ]
    return {"inputs": inputs, "weights": [each for each in weights if each["name"]], "outputs": outputs}


def main() -> None:
    """Answer the job."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    sys.stdout = sys.stderr
    job = json.loads(Path("job.json").read_text())
    try:
        answer = {"error": None, **inspect(job["text"], job["mode"], job["sizes"], job.get("tests", []))}
    except NotImported as error:
        answer = {"error": {"code": error.code, "message": str(error)[:_TEXT]}}
    except ModuleNotFoundError as error:
        answer = {"error": {"code": "module", "message": f"it imports {error.name}, which the sandbox does not have"}}
    except BaseException as error:
        if os.environ.get("DEBUG"):
            traceback.print_exc()
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<module>"]
        where = f"line {lines[-1]}: " if lines else ""
        answer = {"error": {"code": "fails", "message": f"{where}{type(error).__name__}: {error}"[:_TEXT]}}
    (Path(os.environ["OUT"]) / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()

"""Runs a module with real numbers: is it deterministic and finite, which weights matter, how exact must a kernel be."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from module_probe import NotImported
from module_sizes import Position, load
from torch_module import build, first_inputs, flat, seed

_STANDARD_RTOL = {"f64": 1e-10, "f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}
_MARGIN = 8.0  # times the error of PyTorch's own float32 result
_LOOSEST = 0.05
_ENOUGH = 24  # elements from which statistics are believed


@dataclass(frozen=True)
class Numerics:
    """What running it showed."""

    precision: str
    used: frozenset[str]  # weights that change the outputs
    inits: Mapping[str, str | None]  # of weights; None: only the module can make it
    rtol: float | None
    notes: tuple[str, ...]
    unused: tuple[int, ...]  # inputs that change no output, by number
    cancels: bool  # some elements are exact only relative to the others


def run(text: str, values: Mapping[Position, int], mode: str, parameters: frozenset[str]) -> Numerics:
    """Raises NotImported for a module whose outputs cannot be compared."""
    seed(1)
    names = load(text, values, "<module>")
    arguments = first_inputs(names)
    model, _ = build(names, mode)
    outputs = _outputs(model, arguments, 1)
    _refuse_random(outputs, _outputs(model, arguments, 2), mode)
    _refuse_unusable(outputs)
    wide, precision = _wide(text, values, mode, arguments, model)
    notes = [] if precision == "float64" else ["it runs in float32 only, so the reference is not exact"]
    return Numerics(
        precision, _used(model, arguments, outputs), _inits(model, parameters), _rtol(outputs, wide), tuple(notes),
        _unused(model, arguments, outputs), _cancels(outputs, wide),
    )  # fmt: skip


def fewest(text: str, values: Mapping[Position, int], mode: str) -> int:
    """The elements of its smallest output with these sizes; 0 where it does not run or gives NaN or infinity."""
    seed(1)
    try:
        names = load(text, values, "<module>")
        arguments = first_inputs(names)
        outputs = _outputs(build(names, mode)[0], arguments, 1)
    except (RuntimeError, ValueError, IndexError):
        return 0
    finite = all(bool(torch.isfinite(each.double()).all()) for each in outputs)
    return min(each.numel() for each in outputs) if finite else 0


def _outputs(model: torch.nn.Module, arguments: list[Any], number: int) -> list[torch.Tensor]:
    """What a copy of the model gives for a copy of its inputs: it may write both."""
    seed(number)
    with torch.no_grad():
        return flat(copy.deepcopy(model)(*copy.deepcopy(arguments)))


def _refuse_random(one: list[torch.Tensor], other: list[torch.Tensor], mode: str) -> None:
    if len(one) != len(other) or not all(_close(a, b) for a, b in zip(one, other, strict=True)):
        more = "; --eval imports it as in inference, without dropout" if mode == "train" else ""
        raise NotImported("random", f"it gives another output for the same inputs: it draws random numbers{more}")


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        return False
    return bool(torch.allclose(one.double(), other.double(), rtol=1e-4, atol=1e-6, equal_nan=True))


def _refuse_unusable(outputs: list[torch.Tensor]) -> None:
    for number, output in enumerate(outputs):
        if output.numel() == 0:
            raise NotImported("shape", f"output {number + 1} is empty")
        if not torch.isfinite(output.double()).all():
            raise NotImported("not finite", f"output {number + 1} has NaN or infinity")


def _wide(
    text: str, values: Mapping[Position, int], mode: str, arguments: list[Any], model: torch.nn.Module
) -> tuple[list[torch.Tensor] | None, str]:
    """The outputs in float64, where the module computes in it."""
    state = model.state_dict()
    for precision, dtype in (("float64", torch.float64), ("float32", torch.float32)):
        torch.set_default_dtype(dtype)
        try:
            wide, _ = build(load(text, values, "<module>"), mode)
            wide = wide.to(dtype)
            wide.load_state_dict(state)
            moved = [a.to(dtype) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments]
            outputs = _outputs(wide, moved, 1)
        except (RuntimeError, TypeError, ValueError):
            if precision == "float32":
                raise
        else:
            return (outputs if precision == "float64" else None), precision
        finally:
            torch.set_default_dtype(torch.float32)
    raise AssertionError("the last precision returns or raises")


def _rtol(outputs: list[torch.Tensor], wide: list[torch.Tensor] | None) -> float | None:
    """A tolerance well above the error of PyTorch's own result; None: the standard one is."""
    worst, standard = 0.0, 0.0
    for output, exact in zip(outputs, wide or [], strict=False):
        if not output.is_floating_point() or output.dtype == torch.float64:
            continue
        name = {torch.float16: "f16", torch.bfloat16: "bf16"}.get(output.dtype, "f32")
        standard = max(standard, _STANDARD_RTOL[name])
        ref = exact.double()
        scale = ref.abs() + ref.pow(2).mean().sqrt()
        worst = max(worst, float(((output.double() - ref).abs() / scale.clamp_min(1e-300)).max()))
    if wide is None:
        return 1e-4
    if _MARGIN * worst <= standard:
        return None
    power = 10.0 ** math.floor(math.log10(_MARGIN * worst))
    return float(min(_LOOSEST, next(step * power for step in (1, 2, 5, 10) if step * power >= _MARGIN * worst)))


def _cancels(outputs: list[torch.Tensor], wide: list[torch.Tensor] | None) -> bool:
    for output, exact in zip(outputs, wide or [], strict=False):
        if output.dtype == torch.float32:
            ref = exact.double()
            if bool(((output.double() - ref).abs() > _STANDARD_RTOL["f32"] / 4 * ref.abs()).any()):
                return True
    return False


def _used(model: torch.nn.Module, arguments: list[Any], outputs: list[torch.Tensor]) -> frozenset[str]:
    used = set()
    for path, tensor in model.state_dict().items():
        if not tensor.numel() or not tensor.is_floating_point():
            continue
        other = copy.deepcopy(model)
        with torch.no_grad():
            state = other.state_dict()[path]
            state.copy_(tensor * 1.5 + 0.25)
        try:
            changed = _outputs(other, arguments, 1)
        except (RuntimeError, ValueError):
            used.add(path)
            continue
        if any(not torch.equal(a, b) for a, b in zip(outputs, changed, strict=True)):
            used.add(path)
    return frozenset(used)


def _unused(model: torch.nn.Module, arguments: list[Any], outputs: list[torch.Tensor]) -> tuple[int, ...]:
    found = []
    for number, each in enumerate(arguments):
        if not isinstance(each, torch.Tensor):
            continue
        other = each * 0.5 + 0.25 if each.is_floating_point() else torch.zeros_like(each)
        if not each.is_floating_point() and torch.equal(each, other):
            continue  # zeros show nothing
        try:
            changed = _outputs(model, [*arguments[:number], other, *arguments[number + 1 :]], 1)
        except (RuntimeError, ValueError, IndexError):
            continue
        if all(torch.equal(a, b) for a, b in zip(outputs, changed, strict=True)):
            found.append(number)
    return tuple(found)


def _inits(model: torch.nn.Module, parameters: frozenset[str]) -> dict[str, str | None]:
    return {path: _init(tensor.double(), path in parameters) for path, tensor in model.state_dict().items()}


def _init(tensor: torch.Tensor, is_parameter: bool) -> str | None:
    """What fills a weight: like the module's own, but never a constant, which a kernel could leave out."""
    if not tensor.numel():
        return None
    low, high = float(tensor.min()), float(tensor.max())
    if low == high:
        half = 0.5 * abs(low) or 0.5
        return f"uniform({_short(low - half)}, {_short(low + half)})"
    if not is_parameter:
        return None
    if tensor.numel() < _ENOUGH:
        most = max(abs(low), abs(high))
        return f"uniform({_short(-most)}, {_short(most)})"
    mean, deviation = float(tensor.mean()), float(tensor.std())
    if abs((high - low) ** 2 / 12 / deviation**2 - 1) < 0.25:
        return f"uniform({_short(low)}, {_short(high)})"
    return f"normal({_short(mean if abs(mean) > 0.2 * deviation else 0)}, {_short(deviation)})"


def _short(number: float) -> str:
    return f"{number:.2g}"

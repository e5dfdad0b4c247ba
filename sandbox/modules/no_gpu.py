"""Lets code that was written for a GPU run on the CPU: torch forgets the device "cuda"."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._device import _device_constructors

_FACTORIES = (
    "rand", "randn", "randint", "zeros", "ones", "empty", "full", "arange", "tensor", "linspace", "eye", "randperm",
    "normal", "rand_like", "randn_like", "randint_like", "zeros_like", "ones_like", "empty_like", "full_like",
    "as_tensor",
)  # fmt: skip
_UNDEFINED = ("empty", "empty_like")  # filled with zeros here: no number may come from memory that was not written
_EMPTY = torch.empty
_installed: list[bool] = []


def install() -> None:
    """Change torch once; later calls do nothing."""
    if _installed:
        return
    _installed.append(True)
    _device_constructors()  # torch notes its factories at the first call, and must find its own
    original = {name: getattr(torch, name) for name in _FACTORIES}
    for name in _FACTORIES:
        setattr(torch, name, _on_cpu(original[name], fills=name in _UNDEFINED))
    generator = torch.Generator
    torch.Generator = lambda *_, **__: generator()
    for kind in (torch.Tensor, torch.nn.Module):
        kind.cuda = lambda self, *_, **__: self
        kind.to = _without_device(kind.to)
    for name in ("synchronize", "manual_seed", "manual_seed_all", "empty_cache", "set_device"):
        setattr(torch.cuda, name, lambda *_, **__: None)
    torch.set_default_device = lambda *_: None


def is_gpu(value: Any) -> bool:
    """Whether an argument names a GPU."""
    return (isinstance(value, str) and value.split(":")[0] in ("cuda", "hip")) or (
        isinstance(value, torch.device) and value.type == "cuda"
    )


def _on_cpu(function: Callable[..., Any], *, fills: bool) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        if is_gpu(keywords.get("device")):
            del keywords["device"]
        keywords.pop("pin_memory", None)
        if "generator" in keywords and _EMPTY(0).device.type == "meta":
            del keywords["generator"]  # nothing is drawn there
        result = function(*arguments, **keywords)
        return result.zero_() if fills and result.device.type == "cpu" else result

    return call


def _without_device(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        kept = [each for each in arguments if not is_gpu(each)]
        if is_gpu(keywords.get("device")):
            del keywords["device"]
        return function(self, *kept, **keywords) if kept or keywords else self

    return call

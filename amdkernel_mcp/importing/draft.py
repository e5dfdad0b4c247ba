"""The text of problem.toml and reference.py for a module that was inspected."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.importing.inspect_module import ModuleFile
from amdkernel_mcp.importing.inspection import Array, Inspection, Plain

_ADDED = "# ---- added by `amdkernel problem import`; what is above is {name} as it was ----"


@dataclass(frozen=True)
class Draft:
    """The two files of a problem."""

    declaration: str
    reference: str


def draft(module: ModuleFile, found: Inspection, *, normal: bool) -> Draft:
    """The problem of a module. `normal`: with normal numbers where the module draws them from 0 to 1."""
    return Draft(_declaration(module, found, normal=normal), _reference(module, found))


def _declaration(module: ModuleFile, found: Inspection, *, normal: bool) -> str:
    parts = [
        f"title = {_quoted(_title(module.file))}",
        f"description = {_quoted(_description(module, found))}",
        *(_argument(each, "in", normal=normal) for each in found.inputs if not _is_constant(each)),
        *(_argument(each, "in", normal=False) for each in found.weights),
        *(_argument(each, "out", normal=False) for each in found.outputs),
        *(f'[[arguments]]\nname = "{each.name}"\ndtype = "i32"' for each in found.sizes),
        _case(found, {each.name: each.value for each in found.sizes}, held_out=False),
    ]
    parts += [_case(found, each, held_out=False) for each in found.tests]
    if found.held_out:
        parts.append(_case(found, found.held_out, held_out=True))
    if found.ranges:
        parts.append(
            "\n".join(["[ranges]", *(_range(each.name, each.low, each.high, each.multiple) for each in found.sizes)])
        )
    if found.rtol is not None:
        parts.append(f"[tolerance]\nrtol = {found.rtol:g}")
    return "\n\n".join(parts) + "\n"


def _title(file: str) -> str:
    return re.sub(r"[_\s]+", " ", re.sub(r"^\d+_", "", Path(file).stem)).strip() or "Imported module"


def _description(module: ModuleFile, found: Inspection) -> str:
    text = f"Imported from {Path(module.file).name}: reference.py has the module, whose forward is to be computed."
    if found.changed:
        listed = ", ".join(f"{each.name} = {each.original} there, {each.value} here" for each in found.changed)
        text += f" Sizes were made smaller: {listed}."
    if found.weights:
        text += " Weights are inputs of the kernel."
    if module.mode == "eval":
        text += " The module is in inference mode."
    return text


def _argument(each: Array | Plain, role: str, *, normal: bool) -> str:
    if isinstance(each, Plain):
        dtype = "f32" if isinstance(each.value, float) else "i32"
        return f'[[arguments]]\nname = "{each.name}"\ndtype = "{dtype}"'
    dtype = "u8" if each.dtype == "bool" else each.dtype
    shape = ", ".join(_quoted(formula) for formula in each.shape) or '"1"'
    lines = ["[[arguments]]", f'name = "{each.name}"', f'dtype = "{dtype}"', f"shape = [{shape}]", f'role = "{role}"']
    if role == "in" and each.init:
        init = "normal" if normal and each.init == "uniform(0, 1)" else each.init
        lines.append(f"init = {_quoted(init)}")
    return "\n".join(lines)


def _case(found: Inspection, sizes: dict[str, int], *, held_out: bool) -> str:
    plain = [each for each in found.inputs if isinstance(each, Plain) and each.value is not None]
    lines = ["[[cases]]", *(f"{name} = {value}" for name, value in sizes.items())]
    lines += [f"{each.name} = {int(each.value) if isinstance(each.value, bool) else each.value}" for each in plain]
    return "\n".join([*lines, "held_out = true"] if held_out else lines)


def _range(name: str, low: int, high: int, multiple: int) -> str:
    if multiple == 1:
        return f"{name} = [{low}, {high}]"
    return f"{name} = {{ min = {low}, max = {high}, multiple = {multiple} }}"


def _is_constant(each: Array | Plain) -> bool:
    return isinstance(each, Plain) and each.value is None


def _quoted(text: str) -> str:
    return json.dumps(text)


# ---- reference.py ----


def _reference(module: ModuleFile, found: Inspection) -> str:
    generated = [e.name for e in (*found.inputs, *found.weights) if isinstance(e, Array) and e.init is None]
    places: dict[tuple[int, int], str | int] = {at: each.name for each in found.sizes for at in each.positions}
    places |= dict(found.fixed)
    inputs = [_input(each) for each in found.inputs]
    plan = [
        "# Which number of the text above is which size (line, column), and which tensor is which argument.",
        "PLAN = {",
        f'    "sizes": {places!r},',
        '    "inputs": [',
        *(f"        {entry!r}," for entry in inputs),
        "    ],",
        f'    "weights": { {each.path: each.name for each in found.weights}!r},',
        f'    "outputs": {[each.name for each in found.outputs]!r},',
        f'    "generated": {generated!r},',
        f'    "mode": {module.mode!r},',
        f'    "precision": {found.precision!r},',
        "}",
    ]
    lines = [
        module.text.rstrip("\n"),
        "",
        "",
        _ADDED.format(name=_plain(Path(module.file).resolve().name)),
        *plan,
        "",
        "",
    ]
    lines += ["def reference(**given):", *_call("reference", "PLAN, given")]
    if generated or re.search(r"^(def|from|import) .*\bgenerate\b|^generate\b", module.text, re.MULTILINE):
        lines += ["", "", "def generate(rng, **given):", *_call("generate", "PLAN, rng, given")]
    return "\n".join(lines) + "\n"


def _plain(name: str) -> str:
    return re.sub(r"[^\w.() -]", "_", name)


def _call(name: str, arguments: str) -> Sequence[str]:
    return "    import torch_module", "", f"    return torch_module.{name}(__file__, {arguments})"


def _input(each: Array | Plain) -> dict[str, object]:
    if isinstance(each, Plain):
        value = each.value
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        return {"name": each.name, "dtype": None, "plain": type(value).__name__}
    return {"name": each.name, "dtype": each.dtype, "scalar": not each.shape}

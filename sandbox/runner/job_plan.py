"""The job as the runner reads it: `job.json` in the working folder, and the files that it names.

The host side that writes it is amdkernel_mcp/execution/runner/job.py; both carry the same format number.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = 3


@dataclass(frozen=True)
class Buffer:
    """A block of device memory; `file` holds the contents of one that the kernels read."""

    name: str
    bytes: int
    role: str  # in, out, inout, workspace
    file: Path | None
    align: int = 256  # it begins at any multiple

    @property
    def is_output(self) -> bool:
        return self.role in ("out", "inout")


@dataclass(frozen=True)
class Launch:
    """One kernel launch; the grid is in workgroups. An argument is the index of a buffer, or the bytes of a scalar."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds_bytes: int
    arguments: tuple[int | bytes, ...]


@dataclass(frozen=True)
class Timing:
    """How the launches of a case are timed."""

    warmups: int
    samples: int
    buffer_sets: int  # copies of all buffers, taken in turn, so that a sample finds cold caches
    kept: tuple[int, ...]  # samples whose outputs are reported, ascending: no kernel knows which


@dataclass(frozen=True)
class PairPlan:
    """How the launches of a case are timed in turns with those of its rival, which has the same inputs."""

    buffers: tuple[Buffer, ...]  # of the rival
    launches: tuple[Launch, ...]
    pairs: int
    least_pairs: int  # before the time budget ends them
    budget_s: float
    settle_s: float
    settle_limit_s: float  # on the host's clock
    event_us: float  # the shortest time between two events
    most_launches: int  # between two events
    buffer_sets: int  # copies of all buffers of each side
    more_inputs: tuple[dict[int, Path], ...]  # of the rival's buffers, as those of the case


@dataclass(frozen=True)
class Case:
    """Buffers, and the launches that work on them, in order."""

    buffers: tuple[Buffer, ...]
    launches: tuple[Launch, ...]
    repeats: int
    timing: Timing | None
    emulator_options: tuple[str, ...]  # one for each repeat, or none
    rival: PairPlan | None
    close_look_within: int  # instructions of the plain repeat: races of a larger case are looked for in a sample
    more_inputs: tuple[dict[int, Path], ...]  # other contents of the buffers that have a file, by their index


@dataclass(frozen=True)
class Job:
    """What one run of the runner does."""

    code_object: Path
    rival_code_object: Path | None
    case_timeout_s: float
    case_instructions: int  # of a repeat on the emulator
    emulated: bool
    cases: tuple[Case, ...]
    layout_seed: str  # unknown to the kernels: where buffers lie


def read_job(folder: Path) -> Job:
    """The job in `folder`. Raises ValueError, KeyError or TypeError when it is not one of our format."""
    raw = json.loads((folder / "job.json").read_text())
    if raw["format"] != FORMAT:
        raise ValueError(f"job.json has format {raw['format']}, this runner reads {FORMAT}")
    return Job(
        code_object=folder / raw["code_object"],
        rival_code_object=folder / raw["rival_code_object"] if raw["rival_code_object"] else None,
        case_timeout_s=float(raw["case_timeout_s"]),
        case_instructions=int(raw["case_instructions"]),
        emulated=bool(raw["emulated"]),
        cases=tuple(_case(case, folder) for case in raw["cases"]),
        layout_seed=raw["layout_seed"],
    )


def _case(raw: dict[str, Any], folder: Path) -> Case:
    return Case(
        buffers=_buffers(raw["buffers"], folder),
        launches=tuple(_launch(launch) for launch in raw["launches"]),
        repeats=raw["repeats"],
        rival=_rival(raw["rival"], folder) if raw["rival"] else None,
        timing=_timing(raw["timing"]) if raw["timing"] else None,
        emulator_options=tuple(raw["emulator_options"]),
        close_look_within=raw["close_look_within"],
        more_inputs=_more_inputs(raw["more_inputs"], folder),
    )


def _more_inputs(raw: list[dict[str, str]], folder: Path) -> tuple[dict[int, Path], ...]:
    return tuple({int(n): folder / file for n, file in each.items()} for each in raw)


def _buffers(raw: list[dict[str, Any]], folder: Path) -> tuple[Buffer, ...]:
    return tuple(
        Buffer(b["name"], b["bytes"], b["role"], folder / b["file"] if b["file"] else None, b["align"]) for b in raw
    )


def _rival(raw: dict[str, Any], folder: Path) -> PairPlan:
    launches = tuple(_launch(launch) for launch in raw["launches"])
    more_inputs = _more_inputs(raw["more_inputs"], folder)
    buffers = _buffers(raw["buffers"], folder)
    return PairPlan(**{**raw, "buffers": buffers, "launches": launches, "more_inputs": more_inputs})


def _timing(raw: dict[str, Any]) -> Timing:
    return Timing(raw["warmups"], raw["samples"], raw["buffer_sets"], tuple(raw["kept"]))


def _launch(raw: dict[str, Any]) -> Launch:
    grid_x, grid_y, grid_z = raw["grid"]
    block_x, block_y, block_z = raw["block"]
    return Launch(
        kernel=raw["kernel"],
        grid=(grid_x, grid_y, grid_z),
        block=(block_x, block_y, block_z),
        lds_bytes=raw["lds_bytes"],
        arguments=tuple(a["buffer"] if "buffer" in a else bytes.fromhex(a["scalar"]) for a in raw["arguments"]),
    )

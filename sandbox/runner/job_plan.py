"""The job as the runner reads it: `job.json` in the working folder, and the files that it names.

The host side that writes it is amdkernel_mcp/execution/runner/job.py; both carry the same format number.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class Buffer:
    """A block of device memory; `file` holds the contents of one that the kernels read."""

    name: str
    bytes: int
    role: str  # in, out, inout, workspace
    file: Path | None

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


@dataclass(frozen=True)
class Case:
    """Buffers, and the launches that work on them, in order."""

    buffers: tuple[Buffer, ...]
    launches: tuple[Launch, ...]
    repeats: int
    timing: Timing | None
    emulator_options: tuple[str, ...]  # one for each repeat, or none
    close_look_within_s: float  # a case whose plain repeat takes longer is not looked at for races, nor in other orders


@dataclass(frozen=True)
class Job:
    """What one run of the runner does."""

    code_object: Path
    case_timeout_s: float
    cases: tuple[Case, ...]


def read_job(folder: Path) -> Job:
    """The job in `folder`. Raises ValueError, KeyError or TypeError when it is not one of our format."""
    raw = json.loads((folder / "job.json").read_text())
    if raw["format"] != FORMAT:
        raise ValueError(f"job.json has format {raw['format']}, this runner reads {FORMAT}")
    return Job(
        code_object=folder / raw["code_object"],
        case_timeout_s=float(raw["case_timeout_s"]),
        cases=tuple(_case(case, folder) for case in raw["cases"]),
    )


def _case(raw: dict[str, Any], folder: Path) -> Case:
    return Case(
        buffers=tuple(
            Buffer(b["name"], b["bytes"], b["role"], folder / b["file"] if b["file"] else None) for b in raw["buffers"]
        ),
        launches=tuple(_launch(launch) for launch in raw["launches"]),
        repeats=raw["repeats"],
        timing=Timing(**raw["timing"]) if raw["timing"] else None,
        emulator_options=tuple(raw["emulator_options"]),
        close_look_within_s=raw["close_look_within_s"],
    )


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

"""A place where code runs: the emulator, or one GPU of this machine or of a configured host."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Target:
    """One place where code runs. `host` is None for this machine, `index` None for the emulator.

    `id`: of a GPU, the same from each machine that names it.
    """

    name: str
    kind: Literal["emulator", "gpu"]
    arch: str
    gpu: str
    host: str | None = None
    index: int | None = None
    id: str | None = None

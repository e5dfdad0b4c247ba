"""A place where code runs: the emulator, or one GPU of this machine or of a configured host."""

import re
from dataclasses import dataclass
from typing import Literal


def is_emulated(name: str) -> bool:
    """Whether a target of this name, `emulator:gfx942` or a host's `big:gfx942`, is an emulated GPU.

    `slurm:gfx942` is not one: its GPUs are real.
    """
    return re.fullmatch(r"emulator:.*|(?!(?i:emulator|slurm):)[A-Za-z0-9][\w.-]*:gfx\w+", name) is not None


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

    @property
    def is_scheduled(self) -> bool:
        """Whether a scheduler, such as Slurm, gives a GPU for each run: it has no index, and no lease of ours."""
        return self.kind == "gpu" and self.index is None

"""The noise floor of each GPU: what identical code differed by in earlier A/A runs, kept in the data folder.

A floor belongs to one GPU under one ROCm, and gets old: entries of another ROCm, or older than a week, do not count.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from amdkernel_mcp.measurement.timing.statistics import FLOOR_RUNS, stored_noise_floor

FOLDER = "noise_floors"
OLDEST_S = 7 * 24 * 3600.0
MOST_RUNS = 64


@dataclass(frozen=True)
class SameCode:
    """One A/A run: the speed-up that it estimated, when, and under which ROCm."""

    speedup: float
    at_s: float
    rocm: str


class NoiseFloors:
    """The runs of one GPU. `identity`: what the driver calls it, so that another card in its slot has its own."""

    def __init__(self, data_dir: Path, identity: str) -> None:
        self._file = data_dir / FOLDER / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"

    def missing(self, rocm: str, *, now_s: float | None = None) -> int:
        """How many A/A runs are needed before there is a floor."""
        return max(0, FLOOR_RUNS - len(self._runs(rocm, now_s)))

    def floor(self, rocm: str, *, now_s: float | None = None) -> float | None:
        """The floor as a fraction; None where too few runs are known."""
        return stored_noise_floor([run.speedup for run in self._runs(rocm, now_s)])

    def add(self, speedups: Sequence[float], rocm: str, *, now_s: float | None = None) -> None:
        """Keep the estimates of A/A runs that were made just now. Raises OSError."""
        at_s = time.time() if now_s is None else now_s
        kept = [*self._runs(rocm, at_s), *(SameCode(value, at_s, rocm) for value in speedups)][-MOST_RUNS:]
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps([asdict(run) for run in kept]), encoding="utf-8")
        new.replace(self._file)

    def _runs(self, rocm: str, now_s: float | None) -> list[SameCode]:
        now_s = time.time() if now_s is None else now_s
        try:
            runs = [SameCode(**entry) for entry in json.loads(self._file.read_text(encoding="utf-8"))]
            return [run for run in runs if run.rocm == rocm and 0 <= now_s - run.at_s < OLDEST_S and run.speedup > 0]
        except (OSError, ValueError, TypeError):
            return []  # missing or damaged: measured again

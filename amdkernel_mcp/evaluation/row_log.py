"""The rows of an evaluation on disk. A row is written as soon as it is known; a line that was cut off is ignored."""

from __future__ import annotations

import csv
import io
import os
import threading
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results.evaluation import EvaluatedKernel, Scores

_LARGEST_LOG = 256 << 20  # bytes
_COLUMNS = (
    "problem", "candidate", "check", "benchmark", "speedup", "speedup_low", "speedup_high", "evidence", "flags",
    "reason", "failed", "trust", "seconds", "key",
)  # fmt: skip


class RowLog:
    """The results folder of one suite; `rows.jsonl` only grows. Raises InputError where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "rows.jsonl"
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._end_cut_line()
        except OSError as error:
            raise _not_writable(folder, error) from None

    def rows(self) -> dict[str, EvaluatedKernel]:
        """The rows that have a verdict, by key; of equal keys the newest."""
        found: dict[str, EvaluatedKernel] = {}
        if not self._file.exists():
            return found
        if self._file.stat().st_size > _LARGEST_LOG:
            raise InputError(f"it is larger than {_LARGEST_LOG >> 20} MiB", file=str(self._file), hint="move it away")
        for line in self._file.read_bytes().splitlines():
            try:
                row = EvaluatedKernel.model_validate_json(line)
            except ValidationError:
                continue
            if row.failed is None:
                found[row.key] = row
        return found

    def add(self, row: EvaluatedKernel) -> None:
        """Append the row; it is on disk when this returns."""
        try:
            with self._lock, self._file.open("ab") as file:
                file.write(row.model_dump_json().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _not_writable(self._folder, error) from None

    def write_summary(self, rows: Iterable[EvaluatedKernel], scores: Scores) -> None:
        """Write rows.csv and scores.json, whole or not at all."""
        try:
            self._replace("rows.csv", _as_csv(rows))
            self._replace("scores.json", scores.model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise _not_writable(self._folder, error) from None

    def _replace(self, name: str, text: str) -> None:
        temporary = self._folder / f".{name}.{os.getpid()}"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self._folder / name)

    def _end_cut_line(self) -> None:
        """A run that was killed may have left half a line; the next row must not become part of it."""
        if self._file.exists() and self._file.read_bytes()[-1:] not in (b"", b"\n"):
            with self._file.open("ab") as file:
                file.write(b"\n")


def _as_csv(rows: Iterable[EvaluatedKernel]) -> str:
    text = io.StringIO()
    table = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for row in rows:
        interval = row.speedup
        speedup = {"speedup": interval.value, "speedup_low": interval.low, "speedup_high": interval.high}
        plain = row.model_dump(exclude={"speedup"}) | speedup | {"flags": " ".join(row.flags)}
        table.writerow({name: _harmless(value) for name, value in plain.items()})
    return text.getvalue()


def _harmless(value: object) -> object:
    """Spreadsheets run text that begins like a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value


def _not_writable(folder: Path, error: OSError) -> InputError:
    return InputError(f"the results cannot be written: {error.strerror}", file=str(folder), hint="use --out FOLDER")

"""Which of several files with the same trace or the same samples is used, and to which kernels samples belong."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from amdkernel_mcp.profiling.readers.kernel_code import KernelCode, join_code
from amdkernel_mcp.profiling.readers.recording import RecordedDispatch

_SAMPLES = re.compile(r"_?pc_sampling.*$|_results\.json$|_kernel_trace\.csv$")


class CodeFiles:
    """Thread traces and PC samples of a recording, by file."""

    def __init__(self) -> None:
        self.samples: list[Path] = []
        """CSV files with PC samples, to be read when the traces are known."""
        self._found: dict[Path, Sequence[KernelCode]] = {}
        self._sources: dict[str, Path] = {}

    def add(self, path: Path, code: Sequence[KernelCode], sources: Mapping[str, Path] | None = None) -> None:
        """Notes what a file holds."""
        if code:
            self._found[path] = code
            self._sources |= sources or {}

    def chosen(self) -> tuple[tuple[KernelCode, ...], Mapping[str, Path], list[tuple[Path, str]]]:
        """The code of all files, each trace and each sample once; copies of sources; the files that said it again."""
        doubled = {path: why for path in self._found if (why := self._said_elsewhere(path))}
        used = [code for path, found in self._found.items() if path not in doubled for code in found]
        return join_code(used), self._sources, list(doubled.items())

    def _said_elsewhere(self, path: Path) -> str | None:
        """rocprofv3 writes what it samples or traces as CSV and as JSON; JSON has addresses, names and sources."""
        if path.suffix.lower() != ".csv":
            return None
        trace = path.parent / path.stem.removeprefix("stats_") / "code.json"
        if trace in self._found:
            return "the code.json of the same trace was read instead"
        for other, code in self._found.items():
            if other.name.endswith("_results.json") and _process(other) == _process(path):
                methods = {each.method for each in code}
                if methods & {each.method for each in self._found[path]}:
                    return f"{other.name} has the same samples and was read instead"
        return None


def _process(path: Path) -> tuple[Path, str]:
    """Folder and prefix of a file's name: rocprofv3 gives all files of a process the same."""
    return path.parent, _SAMPLES.sub("", path.name)


class SampleNames:
    """Kernels by the number of the dispatch, for each process whose trace there is."""

    def __init__(self) -> None:
        self._by_process: dict[tuple[Path, str], dict[int, str]] = {}

    def add(self, path: Path, dispatches: Sequence[RecordedDispatch]) -> None:
        """Notes the dispatches of a kernel trace."""
        self._by_process[_process(path)] = {one.number: one.kernel for one in dispatches if one.number is not None}

    def of(self, path: Path) -> Mapping[int, str]:
        """The kernels of the process that the samples in `path` are of; empty where its trace is not there."""
        return self._by_process.get(_process(path), {})

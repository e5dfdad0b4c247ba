"""The launches in the kernel traces that rocprofv3 wrote for one run, by the process that made them."""

import csv
import io
import re
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.measurement.timing.trace_agreement import TracedLaunch
from amdkernel_mcp.profiling.readers.csv_table import Row, open_table
from amdkernel_mcp.profiling.readers.recording import kernel_name, timestamp_ns

_FILE = re.compile(r"out_(\d{1,10})_kernel_trace\.csv")  # as rocprofv3.py names them


def traced_launches(files: Mapping[str, bytes]) -> dict[int, list[TracedLaunch]]:
    """The launches of each process in the order of their start. Other files are left out. Raises ProfileFileError."""
    return {
        int(named[1]): _launches(name, content)
        for name, content in files.items()
        if (named := _FILE.fullmatch(name.rpartition("/")[2]))
    }


def without_other_kernels(files: Mapping[str, bytes], kernels: Collection[str]) -> dict[str, bytes]:
    """The files, of whose traces the launches of kernels are left whose names hold one of `kernels`.

    rocprofv3's --kernel-include-regex chooses what is counted; a trace has the runtime's kernels as well, which fill
    and copy memory. Source: rocprofiler-sdk, rocprofiler-sdk-tool/tool.cpp, is_targeted_kernel.
    """
    return {name: _of(content, kernels) if _is_trace(name) else content for name, content in files.items()}


def _is_trace(name: str) -> bool:
    return _FILE.fullmatch(name.rpartition("/")[2]) is not None


def _of(content: bytes, kernels: Collection[str]) -> bytes:
    """A file that is not a table stays as it is: who reads it says so."""
    try:
        header, *rows = csv.reader(io.StringIO(content.decode()), strict=True)
        column = header.index("Kernel_Name")
        kept = [row for row in rows if any(kernel in row[column] for kernel in kernels)]
    except (ValueError, IndexError, csv.Error):
        return content
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([header, *kept])
    return text.getvalue().encode()


def _launches(name: str, content: bytes) -> list[TracedLaunch]:
    with tempfile.TemporaryDirectory(prefix="amdkernel-trace-") as folder:
        path = Path(folder, name.rpartition("/")[2])
        path.write_bytes(content)
        table = open_table(path)
        table.require(["Kernel_Name", "Start_Timestamp", "End_Timestamp"], what="a kernel_trace file")
        return sorted((_launch(row) for row in table.rows), key=lambda launch: launch.start_ns)


def _launch(row: Row) -> TracedLaunch:
    start, end = (
        timestamp_ns(row.text(column), file=row.file, line=row.line) for column in ("start_timestamp", "end_timestamp")
    )
    if end < start:
        raise ProfileFileError(f"the end {end} is before the start {start}", file=row.file, line=row.line)
    return TracedLaunch(kernel_name(row.text("kernel_name")), start, end)

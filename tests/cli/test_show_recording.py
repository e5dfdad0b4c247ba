"""What `amdkernel profile import` shows of a thread trace: lines with file and text, cycles, and where waits are."""

import io
from pathlib import Path

from rich.console import Console

from amdkernel_mcp.cli.show.profile import show_profile
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.profiling.import_recording import import_recording
from tests.profiling.traces import code_json, write


def test_a_trace_shows_lines_with_text_instructions_with_cycles_and_the_places_of_waits(tmp_path: Path) -> None:
    code_json(tmp_path)
    write(tmp_path / "source_0_copy.hip", "\n\n\n\n    wait for [the] load\n")
    write(tmp_path / "snapshots.json", {"/": {"src": {"copy.hip": "source_0_copy.hip"}}})
    console = Console(file=io.StringIO(), width=120)
    show_profile(console, import_recording(tmp_path), KernelSource("", "code.json"))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "copy.hip:5 │ wait for [the] load" in text
    assert "s_waitcnt vmcnt(0)  ← 7,000 cycles, 6,600 stalled; 100 idle before" in text
    assert "where    /src/copy.hip:5" in text
    assert "0 dispatches" not in text

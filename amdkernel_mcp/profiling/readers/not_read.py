"""What a file is that is not a recording of kernels, in words, so that a refusal or a warning can say it."""

from collections.abc import Sequence
from pathlib import Path

from amdkernel_mcp.profiling.readers.csv_table import Table
from amdkernel_mcp.profiling.readers.recording import visible

MOST_NAMED = 20
"""Files in the warnings of a folder; the rest is counted."""
_BY_COLUMNS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"sample_timestamp", "exec_mask"}), "PC samples, which are not read yet"),
    (frozenset({"vaddr", "hitcount"}), "the statistics of a thread trace, which are not read yet"),
    (frozenset({"direction", "source_agent_id"}), "a trace of memory copies"),
    (frozenset({"domain", "function"}), "a trace of API calls"),
    (frozenset({"name", "calls", "totaldurationns"}), "statistics of domains or API calls, not of kernels"),
    (frozenset({"agent_type", "cu_count"}), "a list of devices"),
)
_BY_KEYS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"code", "header"}), "the code of a thread trace or of PC samples, which are not read yet"),
    (frozenset({"code", "version"}), "the code of a thread trace, which is not read yet"),
    (frozenset({"wave", "duration"}), "a wave of a thread trace, which is not read yet"),
    (frozenset({"wave_filenames"}), "the file list of a thread trace, which is not read yet"),
)
DOMAINS = frozenset({"KERNEL_DISPATCH", "MEMORY_COPY", "MEMORY_ALLOCATION", "SCRATCH_MEMORY", "MARKER_API", "RCCL_API"})


def what_csv(table: Table) -> str:
    """What the columns say that it is."""
    for columns, what in _BY_COLUMNS:
        if columns <= table.columns:
            return what
    return f"its columns are {', '.join(table.header[:6])[:120]}"


def what_json(document: object) -> str:
    """What the keys say that it is."""
    keys = set(document) if isinstance(document, dict) else set()
    for wanted, what in _BY_KEYS:
        if wanted <= keys:
            return what
    return "the JSON has no key `rocprofiler-sdk-tool`"


def is_domain(name: str) -> bool:
    """Whether a row of statistics is about a domain or an API, not a kernel."""
    return name.startswith(("hip", "hsa", "HIP_", "HSA_")) or name in DOMAINS


def unused(files: Sequence[tuple[Path, str]]) -> tuple[str, ...]:
    """A warning for each file of a folder that was not used, with why; the first ones by name."""
    named = [f"{visible(path.name)} was not used: {what}" for path, what in files[:MOST_NAMED]]
    more = len(files) - MOST_NAMED
    return (*named, f"{more} more files were not used") if more > 0 else tuple(named)

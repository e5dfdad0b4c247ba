"""What a file is that is not a recording of kernels, in words, so that a refusal or a warning can say it."""

from collections.abc import Sequence
from pathlib import Path

from amdkernel_mcp.profiling.readers.csv_table import Table
from amdkernel_mcp.profiling.readers.recording import visible

MOST_NAMED = 6
"""Files in one warning of a folder; the rest is counted."""
MOST_REASONS = 30
_BY_COLUMNS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"direction", "source_agent_id"}), "a trace of memory copies"),
    (frozenset({"operation", "allocation_size"}), "a trace of memory allocations"),
    (frozenset({"operation", "alloc_flags"}), "a trace of scratch memory"),
    (frozenset({"domain", "function"}), "a trace of API calls"),
    (frozenset({"name", "calls", "totaldurationns"}), "statistics of domains or API calls, not of kernels"),
    (frozenset({"agent_type", "cu_count"}), "a list of devices"),
)
_BY_KEYS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"wave", "duration"}), "a wave of a thread trace: read code.json of its folder, which has the sums"),
    (frozenset({"wave_filenames"}), "the file list of a thread trace without its code.json"),
)
SPM = "counters over time (SPM), which are not read: record sums for each dispatch with --pmc"
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


def unused(files: Sequence[tuple[Path, str]], folder: Path | None) -> tuple[str, ...]:
    """A warning for each reason why files of a folder were not used, with their names; the first ones of many."""
    by_reason: dict[str, list[str]] = {}
    for path, what in files:
        name = path.relative_to(folder) if folder and path.is_relative_to(folder) else path.name
        by_reason.setdefault(what, []).append(visible(str(name)))
    told = tuple(f"{_names(names)} not used: {what}" for what, names in by_reason.items())
    more = len(told) - MOST_REASONS
    return (*told[:MOST_REASONS], f"{more} more warnings of this kind") if more > 0 else told


def _names(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} was"
    if len(names) <= MOST_NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]} were"
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED:,} more files like them were"

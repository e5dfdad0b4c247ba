"""Rows of thread traces and PC samples made safe: texts fit to print, counts that are counts, known reasons only."""

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.kernel_code import Place
from amdkernel_mcp.profiling.readers.recording import visible, whole

MOST_INSTRUCTIONS = 500_000
"""Different ones in a file; the largest kernels have some 100,000."""
REASONS = (
    "NONE", "NO_INSTRUCTION_AVAILABLE", "ALU_DEPENDENCY", "WAITCNT", "INTERNAL_INSTRUCTION", "BARRIER_WAIT",
    "ARBITER_NOT_WIN", "ARBITER_WIN_EX_STALL", "OTHER_WAIT", "SLEEP_WAIT",
)  # fmt: skip
"""In the order of rocprofiler_pc_sampling_instruction_not_issued_reason_t. The lists of ten counts in code.json follow
it: in a recording all counts of index 3 are at s_waitcnt and all of index 5 at s_barrier."""
_REASON_PREFIX = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"


def reason_name(value: object) -> str:
    """A stall reason without its prefix. What is none of the known ones is `OTHER_WAIT`: names are untrusted."""
    if isinstance(value, int):
        return REASONS[value] if 0 <= value < len(REASONS) else "OTHER_WAIT"
    name = str(value).strip().removeprefix(_REASON_PREFIX)
    return name if name in REASONS else {"SLEEP": "SLEEP_WAIT"}.get(name, "OTHER_WAIT")


def count(value: object) -> int:
    """A count of a JSON file, 0 for none. Raises ValueError for what is negative or not a number of 64 bits."""
    number = whole(value) or 0
    if number < 0:
        raise ValueError(f"{number} is a negative count")
    return number


def place(text: object, source: object, code_object: int | None = None, address: int | None = None) -> Place:
    """A place whose texts are fit to print."""
    return Place(visible(str(text).strip()), visible(str(source).strip()), code_object, address)


def too_many(file: str) -> ProfileFileError:
    """The refusal of a file with more than MOST_INSTRUCTIONS."""
    return ProfileFileError(
        f"it has more than {MOST_INSTRUCTIONS:,} instructions",
        file=file,
        hint="record one kernel: --kernel-include-regex",
    )

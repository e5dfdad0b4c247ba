"""A trace has every kernel of its process, also those of the runtime, which no profile of a kernel is about."""

import csv
import io

import pytest

from amdkernel_mcp.profiling.kernel_trace import traced_launches, without_other_kernels

HEADER = ["Kind", "Kernel_Name", "Start_Timestamp", "End_Timestamp"]
FILL, OURS = "__amd_rocclr_fillBufferAligned", "scale(float const*, float*, int)"


def trace(*names: str) -> bytes:
    text = io.StringIO()
    rows = [["KERNEL_DISPATCH", name, 100 * number, 100 * number + 50] for number, name in enumerate(names)]
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC).writerows([HEADER, *rows])
    return text.getvalue().encode()


def test_the_launches_of_the_runtime_are_no_launches_of_the_kernel() -> None:
    files = {
        "r/trace/out_7_kernel_trace.csv": trace(FILL, OURS, FILL, OURS),
        "r/pass_1/out_7_counter_collection.csv": b"x",
    }
    kept = without_other_kernels(files, ["scale"])
    [launches] = traced_launches(kept).values()
    assert [(each.start_ns, each.end_ns) for each in launches] == [(100, 150), (300, 350)]
    assert kept["r/pass_1/out_7_counter_collection.csv"] == b"x"


@pytest.mark.parametrize("content", [b"", b"\xff", b"a,b\n1,2\n", b'"Kernel_Name"\n"k', b"Kind,Kernel_Name\nx\n"])
def test_what_is_no_table_is_left_to_its_reader(content: bytes) -> None:
    assert without_other_kernels({"out_7_kernel_trace.csv": content}, ["scale"]) == {"out_7_kernel_trace.csv": content}

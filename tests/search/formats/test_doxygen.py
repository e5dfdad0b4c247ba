"""What is read from a header."""

from pathlib import Path

from amdkernel_mcp.search.formats.doxygen import parse_header
from amdkernel_mcp.search.formats.page import Section

HEADER = (Path(__file__).parents[1] / "sample_corpus/api/example_api.h").read_text()


def entries() -> dict[str, Section]:
    return {one.heading: one for page in parse_header("example_api.h", HEADER) for one in page.sections}


def test_a_function_has_its_signature_parameters_and_returns() -> None:
    copy = entries()["exMemcpyAsync"]
    assert copy.breadcrumb == ("Memory Management (example_api.h)", "exMemcpyAsync")
    assert "exError_t exMemcpyAsync(void* dst, const void* src, size_t bytes);" in copy.text
    assert "- param [out] dst" in copy.text
    assert "Returns: #hipSuccess, #hipErrorExample" in copy.text
    assert HEADER.split("\n")[copy.line - 1].startswith("exError_t exMemcpyAsync")


def test_an_error_code_is_an_entry_with_its_number_and_its_words() -> None:
    text = entries()["hipErrorExample"].text
    assert "`hipErrorExample` = 17" in text
    assert "Error Example" in text
    assert "The example went wrong." in text


def test_a_device_function_without_a_comment_is_an_entry() -> None:
    assert "__device__ inline int ex_lane_id();" in entries()["ex_lane_id"].text


def test_every_group_is_a_page() -> None:
    paths = [page.path for page in parse_header("hip/example_api.h", HEADER)]
    assert "hip/example_api.h/Memory" in paths
    assert len(set(paths)) == len(paths)


def test_a_header_that_never_ends_does_not_hang() -> None:
    assert parse_header("x.h", "/** doc */\ntypedef enum a {" + " b," * 50_000) == []
    parse_header("x.h", "/** d */\n" + "void " * 20_000)

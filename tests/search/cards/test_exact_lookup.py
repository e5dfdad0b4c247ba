"""Which words of a query are names, and what the cards of each kind say; without an index and without a sandbox."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.hardware.occupancy import SIMDS, occupancy
from amdkernel_mcp.search.cards.architecture import architecture_card, architectures
from amdkernel_mcp.search.cards.counters import counter_card
from amdkernel_mcp.search.cards.declarations import open_declarations, write_declarations
from amdkernel_mcp.search.cards.headers import entries_of, hip_version
from amdkernel_mcp.search.cards.hip_errors import hip_errors
from amdkernel_mcp.search.cards.instructions import architectures_of, instruction_cards, wildcard_card
from amdkernel_mcp.search.cards.lookup import MOST_CARDS, Lookup

HEADER = b"""
/**
 *  @brief Copies bytes while the host continues.
 *
 *  @param [out] dst  Where to
 *  @param [in] bytes How many,
 *                    of both
 *  @returns #hipSuccess, #hipErrorInvalidValue
 *
 *  @see hipMemcpy
 */
hipError_t hipMemcpyAsync(void* dst, size_t bytes, hipStream_t stream __dparm(0));

/** Flag: do not wait for stream 0. */
#define hipStreamNonBlocking 0x01

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost = 0,  ///< Host to host
    hipMemcpyDefault = 4      ///< By the pointers,
                              ///< where the system allows it
} hipMemcpyKind;

typedef struct ihipStream_t* hipStream_t;
"""
DEVICE = b"__device__ inline unsigned long long __ballot(int predicate) { return 0; }\n"
VERSION = b"#define HIP_VERSION_MAJOR 6\n#define HIP_VERSION_MINOR 4\n#define HIP_VERSION_PATCH 43484\n"


COPY = """Copies bytes while the host continues.
- param [out] dst Where to
- param [in] bytes How many, of both

Returns: #hipSuccess, #hipErrorInvalidValue

See: hipMemcpy"""
API, WARP = "hip_runtime_api.h", "amd_detail/amd_warp_functions.h"
# Name, kind, header, text in it, comment, and of an enumerator its value: what header_ast.py reports.
DECLARED = (
    ("hipMemcpyAsync", "function", API, "hipError_t hipMemcpyAsync(void* dst, size_t bytes,"
     " hipStream_t stream __dparm(0))", COPY, None),
    ("hipMemcpyDefault", "enumerator", API, "hipMemcpyDefault = 4", "By the pointers, where the system allows it", 4),
    ("hipStream_t", "type", API, "typedef struct ihipStream_t* hipStream_t", "", None),
    ("__ballot", "function", WARP, "__device__ inline unsigned long long __ballot(int predicate) {", "", None),
)  # fmt: skip


def _lines(headers: dict[str, bytes]) -> Iterator[str]:
    for name, kind, header, text, comment, value in DECLARED:
        begin = headers[header].index(text.encode())
        place = {"file": f"/sandbox/out/hip/{header}", "begin": begin, "end": begin + len(text)}
        said = {"name": name, "kind": kind, "comment": comment, "value": value, "type": "hipMemcpyKind"}
        yield json.dumps(place | said)


@pytest.fixture(scope="module")
def lookup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lookup]:
    path = tmp_path_factory.mktemp("declared") / "hip-api.sqlite3"
    headers = {"hip_runtime_api.h": HEADER, "amd_detail/amd_warp_functions.h": DEVICE, "hip_version.h": VERSION}
    entries = entries_of(headers, "\n".join(_lines(headers)).encode())
    compiler = "hipcc 7.0 with clang 21.1.8"
    write_declarations(entries, path, hip_version=hip_version(headers), compiler=compiler, origin="a test's headers")
    declarations = open_declarations(path)
    assert declarations
    yield Lookup(declarations)
    declarations.close()


@pytest.mark.parametrize(
    ("query", "refs"),
    [
        ("hipMemcpyAsync", ["api:hipMemcpyAsync"]),
        ("hipmemcpyasync", ["api:hipMemcpyAsync"]),
        ("what does hipMemcpyAsync() return?", ["api:hipMemcpyAsync"]),
        ("cudaMemcpyAsync", ["api:hipMemcpyAsync"]),
        ("cudaErrorInvalidDeviceFunction", []),  # HIP's headers here do not have it
        ("__ballot", ["api:__ballot"]),
        ("hipMemcpyDefault", ["api:hipMemcpyDefault"]),
        ("hipStream_t", ["api:hipStream_t"]),
        ("hipErrorLaunchOutOfResources", ["error:hipErrorLaunchOutOfResources"]),
        ("701", ["error:hipErrorLaunchOutOfResources"]),
        ("error code 700", ["error:hipErrorIllegalAddress"]),
        ("HIPRTC_ERROR_COMPILATION", ["error:HIPRTC_ERROR_COMPILATION"]),
        ("layout of v_mfma_f32_32x32x8_f16", ["isa:v_mfma_f32_32x32x8_f16"]),
        ("v_add_f32_e32", ["isa:v_add_f32"]),
        ("v_wmma_*_bf16", ["isa:v_wmma_*_bf16"]),
        ("s_waitcnt vmcnt", ["isa:s_waitcnt"]),
        ("SQ_LDS_BANK_CONFLICT", ["counter:SQ_LDS_BANK_CONFLICT"]),
        ("TCC_HIT_sum", ["counter:TCC_HIT"]),
        ("LDS Utilization", []),
        ("gfx942", ["arch:gfx942"]),
        ("MI300X", ["arch:gfx942"]),
        ("AMD Instinct MI355X", ["arch:gfx950"]),
        ("RX 7900 XTX", ["arch:gfx1100"]),
        ("CDNA3", ["arch:gfx942"]),
        ("SQ_WAVES and hipMemcpyAsync and s_barrier", ["counter:SQ_WAVES", "api:hipMemcpyAsync"]),
        ("how do I avoid bank conflicts on MI300X with padding", []),
        ("barrier", []),
        ("occupancy", []),
        ("128", []),
        ("64 threads", []),
    ],
)
def test_names_in_a_query_get_cards_and_plain_words_do_not(lookup: Lookup, query: str, refs: list[str]) -> None:
    found = lookup.cards_in(query)
    assert [card.ref for card in found] == refs
    assert len(found) <= MOST_CARDS


def test_an_api_card_has_signature_parameters_and_errors_of_the_header(lookup: Lookup) -> None:
    card = lookup.card("api:hipMemcpyAsync")
    assert card
    assert "hipError_t hipMemcpyAsync(void* dst, size_t bytes, hipStream_t stream = 0);" in card.text
    assert "- dst [out]: Where to\n- bytes [in]: How many, of both" in card.text
    assert "Returns: hipSuccess, hipErrorInvalidValue" in card.text
    assert "See also: hipMemcpy" in card.text
    assert card.version == "HIP 6.4.43484"
    assert "line 12" in card.origin
    (from_cuda,) = lookup.cards_in("cudaMemcpyAsync")
    assert from_cuda.text.startswith("CUDA's `cudaMemcpyAsync` is `hipMemcpyAsync` in HIP.")


def test_enumerators_and_macros_say_their_value_and_their_comment(lookup: Lookup) -> None:
    enumerator, macro = lookup.card("api:hipMemcpyDefault"), lookup.card("api:hipStreamNonBlocking")
    assert enumerator
    assert macro
    assert "hipMemcpyDefault = 4  // a value of hipMemcpyKind" in enumerator.text
    assert "By the pointers, where the system allows it" in enumerator.text
    assert "#define hipStreamNonBlocking 0x01" in macro.text


@pytest.mark.parametrize(
    "word", ["", "x" * 5000, "api:", "error:", "isa:*", "counter:%", "arch:gfx", "api:\x00", "nothing_known"]
)
def test_a_ref_to_nothing_has_no_card_or_a_harmless_one(lookup: Lookup, word: str) -> None:
    card = lookup.card(word)
    assert card is None or card.ref == "isa:*"


def test_unknown_refs_lead_to_the_nearest_of_their_kind(lookup: Lookup) -> None:
    assert lookup.nearest("api:hipMemcpyAsnc")[0] == "api:hipMemcpyAsync"
    assert lookup.nearest("error:hipErrorIllegalAdress")[0] == "error:hipErrorIllegalAddress"
    assert all(ref.startswith("isa:") for ref in lookup.nearest("isa:v_mfma_f32_32x32x8_f17"))
    assert lookup.correction("hipErorInvalidValue") == "hipErrorInvalidValue"


def test_a_code_of_two_enums_has_both_cards(lookup: Lookup) -> None:
    card = lookup.card("error:100")
    assert card
    assert "hipErrorNoDevice" in card.text
    assert "HIPRTC_ERROR_LINKING" in card.text


def test_common_errors_have_causes_and_remedies() -> None:
    told = [error for error in hip_errors().values() if error.causes and error.remedies]
    assert len(told) >= 20
    assert all(hip_errors()[error.same].code == error.code for error in hip_errors().values() if error.same)


def test_a_counter_card_says_meaning_unit_block_archs_and_what_is_computed_from_it() -> None:
    card = counter_card("SQ_LDS_BANK_CONFLICT")
    assert card
    for said in ("unit: cycles", "block: SQ", "gfx90a, gfx942, gfx950", "LDS Bank Conflicts/Access", "modelled"):
        assert said in card.text
    derived = counter_card("L2 Cache Hit Rate")
    assert derived
    assert "100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)" in derived.text
    assert counter_card("NO_SUCH_COUNTER") is None


@pytest.mark.parametrize("gfx", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_an_architecture_card_gives_each_figure_a_source(gfx: str) -> None:
    card = architecture_card(gfx)
    assert card
    rows = [line.strip("| ").split(" | ") for line in card.text.split("\n") if line.startswith("| ")][1:]
    assert len(rows) >= 10
    assert all(len(row) == 3 and row[2] for row in rows), rows
    for what in ("wave size", "VGPRs a lane and SIMD", "LDS", "matrix instructions"):
        assert any(row[0] == what for row in rows), what
    assert "Peak TFLOP/s" in card.text


def test_the_register_limits_of_a_card_are_those_that_occupancy_is_computed_with() -> None:
    for gfx in architectures():
        card = architecture_card(gfx)
        assert card
        told = re.search(r"most VGPRs for n waves a SIMD \| ([\d:; ]+) \|", card.text)
        assert told
        for waves, vgprs in (map(int, step.split(": ")) for step in told[1].split("; ")):
            size = SIMDS[gfx].native_wave
            at = [
                occupancy(gfx, vgprs=n, sgprs=1, lds_bytes=0, workgroup_size=size, wave_size=size).waves_per_simd
                for n in (vgprs, vgprs + 1)
            ]
            assert at[0] == waves
            assert at[1] < waves or vgprs in (256, 512)


def test_a_part_is_shown_first_on_the_card_of_its_architecture() -> None:
    card = architecture_card("MI300A")
    assert card
    assert "**MI300A**: 228 CUs" in card.text
    assert "MI300X (304 CUs" in card.text
    assert set(architectures()) == {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}


def test_a_mnemonic_card_names_the_architectures_and_no_more_than_is_certain() -> None:
    (card,) = instruction_cards("v_pk_fma_f32")
    assert "gfx90a, gfx942, gfx950." in card.text
    assert "gfx1100" not in card.text
    assert architectures_of()["s_wait_loadcnt"] == ("gfx1201",)
    found = wildcard_card("v_mfma_f64_*")
    assert found
    assert "v_mfma_f64_16x16x4_f64" in found.text
    assert wildcard_card("v_nothing_*") is None


def test_a_file_of_declarations_that_is_damaged_or_old_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "hip-api.sqlite3"
    assert open_declarations(path) is None
    path.write_bytes(b"no database")
    assert open_declarations(path) is None

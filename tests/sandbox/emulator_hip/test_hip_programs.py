"""What an unmodified HIP program sees of the emulator: the values and error codes of AMD's runtime."""

import pytest

pytestmark = pytest.mark.sandbox

Seen = dict[str, dict[str, str]]

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION, INVALID_SYMBOL = 1, 2, 9, 13
INVALID_DEVICE_FUNCTION, INVALID_DEVICE, INVALID_IMAGE, NO_BINARY_FOR_GPU = 98, 101, 200, 209
FILE_NOT_FOUND, INVALID_HANDLE, NOT_FOUND, ILLEGAL_ADDRESS = 301, 400, 500, 700
LAUNCH_TIMEOUT, LAUNCH_FAILURE = 702, 719


def check(seen: dict[str, str], **expected: object) -> None:
    assert {name: seen.get(name) for name in expected} == {name: str(value) for name, value in expected.items()}


def test_the_device_is_an_emulated_mi300x(seen: Seen) -> None:
    check(
        seen["device"],
        count_error=0,
        count=1,
        properties=0,
        name="AMD Instinct MI300X (emulated)",
        arch="gfx942:sramecc+:xnack-",
        warp=64,
        units=304,
        lds=65536,
        threads=1024,
        revision_is_last=0,
        attribute_warp=64,
        attribute_units=304,
        version_is_the_headers=1,
        other_device=INVALID_DEVICE,
    )


def test_memory_is_allocated_copied_and_filled(seen: Seen) -> None:
    check(seen["memory"], malloc=0, malloc_async=0, in_use=8000, to_device=0, on_device=0, to_host=0, copied=1)
    check(seen["memory"], memset=0, memset_words=0, word=1, rows=0, row=1, host_malloc=0, managed_malloc=0)
    check(seen["memory"], pinned_type=1, device_type=1, free=0, free_null=0, host_free=0)


def test_misuse_of_memory_is_an_error_and_the_last_error_is_returned_once(seen: Seen) -> None:
    check(seen["memory"], too_much=INVALID_VALUE, no_device_memory=INVALID_VALUE, huge=OUT_OF_MEMORY)
    check(seen["memory"], last_error=OUT_OF_MEMORY, last_error_again=0)
    check(seen["memory"], free_twice=INVALID_VALUE)


def test_errors_have_the_names_and_sentences_of_hip(seen: Seen) -> None:
    check(seen["memory"], error_name="hipErrorOutOfMemory", error_text="an illegal memory access was encountered")


def test_a_triple_chevron_launch_computes_and_its_events_run_forward(seen: Seen) -> None:
    check(seen["launch"], stream=0, launch=0, event=0, elapsed_error=0, elapsed=1, synchronize=0, wrong=0)


def test_a_destroyed_stream_is_no_stream(seen: Seen) -> None:
    check(seen["launch"], destroy=0, destroyed=INVALID_HANDLE)


def test_a_kernel_sees_grid_block_and_dynamic_lds(seen: Seen) -> None:
    check(seen["launch"], shape=0, dimensions="5,4,3,8,4,2", dynamic_lds=6300)


def test_device_constant_and_managed_variables_are_shared_with_the_host(seen: Seen) -> None:
    check(seen["symbols"], to_symbol=0, ran=0, factors="1,20,30,4", from_symbol=0, counter=6, managed=42)
    check(seen["symbols"], address=0, size_error=0, size=16)


def test_a_copy_past_a_symbol_and_an_unknown_symbol_are_errors(seen: Seen) -> None:
    check(seen["symbols"], past_symbol=INVALID_VALUE, no_symbol=INVALID_SYMBOL)


def test_functions_report_their_bounds_and_occupancy(seen: Seen) -> None:
    check(seen["symbols"], function=0, bounds=64, occupancy=0, blocks=2, potential=0, potential_block=1)


def test_launches_that_a_gpu_rejects_return_its_codes(seen: Seen) -> None:
    check(
        seen["rejected"],
        no_grid=INVALID_CONFIGURATION,
        no_block=INVALID_CONFIGURATION,
        block_1025=INVALID_CONFIGURATION,
        block_32_32_2=INVALID_CONFIGURATION,
        lds_64k_and_1=INVALID_VALUE,
        launch_bounds=LAUNCH_FAILURE,
        no_function=INVALID_DEVICE_FUNCTION,
        too_wide=INVALID_CONFIGURATION,
    )


def test_launches_at_the_limit_run_and_rejected_ones_do_no_harm(seen: Seen) -> None:
    check(seen["rejected"], block_1024=0, lds_64k=0, still_well=0)


def test_a_fault_is_returned_by_the_next_wait_and_stays_until_a_reset(seen: Seen) -> None:
    check(seen["fault"], launch=0, synchronize=ILLEGAL_ADDRESS, last_error=ILLEGAL_ADDRESS, copy=ILLEGAL_ADDRESS)
    check(seen["fault"], launch_after=ILLEGAL_ADDRESS, reset=0, launch_after_reset=0)


def test_a_person_reads_where_a_fault_was(raw_output: dict[str, str]) -> None:
    stderr = raw_output["fault.stderr"]
    assert "out_of_bounds in kernel" in stderr
    assert "store of 4 bytes of global memory at offset 4096" in stderr
    assert "which has 4096 bytes" in stderr


def test_a_kernel_without_end_is_ended_by_the_step_limit(seen: Seen) -> None:
    check(seen["hang"], synchronize=LAUNCH_TIMEOUT)


def test_a_kernel_that_prints_without_end_is_ended_after_few_calls_to_the_host(seen: Seen) -> None:
    check(seen["flood"], synchronize=LAUNCH_TIMEOUT)
    calls = [name for name in seen["flood"] if name.startswith("call")]
    assert 1 <= len(calls) <= 2_000_000 / 20_000, "each counts as 20,000 of the 2,000,000 steps"


@pytest.mark.parametrize("scenario", ["module", "module-bundle", "module-compressed"])
def test_a_module_is_loaded_and_launched_in_both_ways(seen: Seen, scenario: str) -> None:
    check(seen[scenario], load=0, function=0, parameters=0, tripled=21, extra=0, tripled_again=45, unload=0)
    check(seen[scenario], **{"global": 0, "global_bytes": 12})


def test_a_buffer_of_arguments_may_be_short_but_not_empty(seen: Seen) -> None:
    check(seen["module"], short_buffer=0, empty_buffer=INVALID_VALUE)


def test_what_a_module_does_not_have_is_not_found(seen: Seen) -> None:
    check(seen["module"], no_function=NOT_FOUND, no_global=NOT_FOUND, no_file=FILE_NOT_FOUND, both=INVALID_VALUE)


def test_a_module_for_another_gpu_or_of_garbage_is_an_error(seen: Seen) -> None:
    check(seen["module"], other_arch=NO_BINARY_FOR_GPU, garbage=INVALID_IMAGE)

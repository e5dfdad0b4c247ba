"""Whether a GPU is idle, from what its driver's files say."""

import pytest

from amdkernel_mcp.execution.gpu_idle import GpuState, parse_state, why_busy
from amdkernel_mcp.results.kernels import Clocks

IDLE = """gpu_busy_percent 0
mem_info_vram_used 312475648
unique_id 1a2b3c4d5e6f7000
driver 6.16.6
gpu_id 51140
processes listed
"""


def test_an_idle_gpu_may_be_timed_on() -> None:
    state = parse_state(IDLE)
    assert state == GpuState(0, 312475648, "1a2b3c4d5e6f7000", "6.16.6", ())
    assert why_busy(state) is None
    assert state.text == "0 % busy, 298 MiB in use, no process"


def test_a_busy_gpu_and_one_that_another_process_opened_are_refused() -> None:
    busy = parse_state(IDLE.replace("percent 0", "percent 37"))
    shared = parse_state(IDLE + "process 4711\n")
    assert not isinstance(busy, str)
    assert not isinstance(shared, str)
    assert why_busy(busy) == "the GPU is 37 % busy with the work of others"
    assert why_busy(shared) == "other processes use the GPU: 4711"


@pytest.mark.parametrize("line", IDLE.splitlines()[4:])
def test_without_its_processes_nothing_is_a_sign_of_idleness(line: str) -> None:
    name = line.split()[0]
    for text in (IDLE.replace(line + "\n", ""), IDLE.replace(line, f"{name} "), ""):
        found = parse_state(text)
        assert isinstance(found, str)
        assert name in found


LEVELS = "pp_dpm_sclk 0: 132Mhz\npp_dpm_sclk 1: 1987Mhz *\npp_dpm_sclk 2: 2100Mhz\npp_dpm_mclk 0: 900Mhz *\n"
SENSORS = "freq1_input 1812000000\nfreq2_input 1000000000\n"


@pytest.mark.parametrize(
    ("printed", "sclk", "mclk"),
    [
        (LEVELS, 1987, 900),
        (SENSORS, 1812, 1000),
        (SENSORS + LEVELS, 1987, 900),
        (SENSORS + "pp_dpm_sclk 1: 2100Mhz\n", 1812, 1000),  # no level is marked
        ("pp_dpm_sclk S: 19Mhz *\n", 19, None),  # deep sleep
        ("pp_dpm_sclk 0: 0Mhz *\nfreq2_input 0\n", None, None),
        ("pp_dpm_sclk cat: permission denied\nfreq1_input -3\n", None, None),
        ("pp_dpm_sclk 0: 99999999999Mhz *\n", None, None),
        ("", None, None),
    ],
)
def test_clocks_are_those_that_the_driver_marks_or_its_sensors_read(
    printed: str, sclk: float | None, mclk: float | None
) -> None:
    state = parse_state(IDLE + printed)
    assert not isinstance(state, str), state
    assert state.clocks == Clocks(sclk_mhz=sclk, mclk_mhz=mclk)

"""What may hang is not started unasked where a reset would end the work of others."""

from dataclasses import replace
from pathlib import Path

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.gpu_idle import GpuState
from amdkernel_mcp.leases.hung_kernels import MOST_BYTES_ENDED, HungKernels, Started

ALONE = GpuState(0, 0, "1a2b", "6.16.6", ())
OF_A_HIVE = replace(ALONE, hive=8)
DESKTOP = replace(ALONE, display=True)
LOOPS = Started("loops", "n=4096", "kernel", "amdkernel check")
ENDS = replace(LOOPS, code="ends")
UNREAD = "gpu_id cannot be read"


@pytest.fixture
def known(tmp_path: Path) -> HungKernels:
    HungKernels(tmp_path).note(LOOPS, "deadlock", "emulator:gfx942")
    HungKernels(tmp_path).note(ENDS, "incorrect", "gpu1:0")
    return HungKernels(tmp_path)


@pytest.mark.parametrize(
    ("state", "others"), [(OF_A_HIVE, "7 more GPUs of its XGMI hive"), (DESKTOP, "the desktop on it")]
)
def test_a_kernel_that_did_not_end_is_refused_where_a_reset_takes_down_others(
    known: HungKernels, state: GpuState, others: str
) -> None:
    for work in ("n=4096", "n=1"):
        with pytest.raises(InputError, match=f"deadlock on emulator:gfx942.* would take down {others}"):
            known.refuse(replace(LOOPS, work=work), "gpu1:0", lambda: state, unproven=True)
    known.refuse(LOOPS, "gpu1:0", lambda: ALONE)


def test_where_nobody_knows_what_a_reset_takes_down_a_kernel_that_hangs_is_refused(known: HungKernels) -> None:
    with pytest.raises(InputError, match="it is not known what a reset of gpu1:0 would take down: gpu_id") as error:
        known.refuse(LOOPS, "gpu1:0", lambda: UNREAD)
    assert "amdkernel bringup gpu1:0 --only neighbours" in (error.value.hint or "")
    assert "amdkernel check --hang" in (error.value.hint or "")


def test_what_ended_with_the_same_work_starts_without_a_look_and_with_other_work_it_asks(known: HungKernels) -> None:
    known.refuse(ENDS, "gpu1:0", lambda: pytest.fail("the GPU was looked at"))
    other = replace(ENDS, work="n=1")
    known.refuse(other, "gpu1:0", lambda: ALONE)
    known.refuse(other, "gpu1:0", lambda: pytest.fail("the GPU was looked at"), unproven=True)
    known.refuse(other, "gpu1:0", lambda: pytest.fail("the GPU was looked at"), ends=lambda: True)
    for state in (OF_A_HIVE, UNREAD):
        with pytest.raises(InputError, match=r"not known whether this kernel ends, and .* take down") as error:
            known.refuse(other, "gpu1:0", lambda state=state: state)
        assert "run it on the emulator first" in (error.value.hint or "")
        assert "start_unproven" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("correct", None),
        ("incorrect", None),
        ("timeout", r"did not end before \(timeout on emulator:gfx942\)"),
        ("crashed", "not known whether this kernel ends"),
        ("not_emulated", "not known whether this kernel ends"),
    ],
)
def test_what_is_new_is_tried_out_first(known: HungKernels, verdict: str, said: str | None) -> None:
    new = replace(LOOPS, code="new")

    def try_out() -> str:
        known.note(new, verdict, "emulator:gfx942")
        return f"{verdict}: as it came"

    if said is None:
        known.refuse(new, "gpu1:0", lambda: OF_A_HIVE, try_out=try_out)
        known.refuse(new, "gpu1:0", lambda: pytest.fail("the GPU was looked at"))
        return
    with pytest.raises(InputError, match=said) as error:
        known.refuse(new, "gpu1:0", lambda: OF_A_HIVE, try_out=try_out)
    assert (f"on the emulator it is {verdict}: as it came" in (error.value.hint or "")) == (verdict != "timeout")


def test_an_end_counts_for_what_hung_only_where_the_caller_asked_for_that_start(known: HungKernels) -> None:
    known.note(LOOPS, "correct", "emulator:gfx942")
    with pytest.raises(InputError, match="did not end before"):
        known.refuse(LOOPS, "gpu1:0", lambda: OF_A_HIVE)
    known.note(LOOPS, "correct", "gpu1:0", asked=True)
    known.refuse(LOOPS, "gpu1:0", lambda: pytest.fail("the GPU was looked at"))


def test_what_ended_is_bounded_and_makes_nobody_forget_what_hung(known: HungKernels, tmp_path: Path) -> None:
    for n in range(40):
        known.note(replace(ENDS, work="x" * n), "correct", "emulator:gfx942" * 400)
    kept = sum(each.stat().st_size for each in (tmp_path / "ended").rglob("*") if each.is_file())
    assert kept <= MOST_BYTES_ENDED
    with pytest.raises(InputError, match="did not end before"):
        known.refuse(LOOPS, "gpu1:0", lambda: OF_A_HIVE)

"""A GPU on which nothing runs is listed with the reason; the others are as they were."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.execution import hosts
from amdkernel_mcp.execution.gpus import gpus_of, id_of
from amdkernel_mcp.execution.machine import Machine
from amdkernel_mcp.execution.sandboxes import Sandboxes
from amdkernel_mcp.results.machine import TargetInfo

NODE = {"gfx_target_version": 90402, "unique_id": 0x1A2B3C4D5E6F7000}


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], Mapping[str, str]]], list[TargetInfo]]]:
    """The GPUs among the targets of a machine with two, by what the database says."""
    gpus = gpus_of([NODE | {"drm_render_minor": 128}, NODE | {"drm_render_minor": 129, "unique_id": 0}])
    monkeypatch.setattr(hosts, "local_gpus", lambda: gpus)
    sandboxes = Sandboxes(load_settings())

    def ask(quarantined: Callable[[], Mapping[str, str]]) -> list[TargetInfo]:
        found = Machine(load_settings(), sandboxes, lambda: None, quarantined).targets().targets
        return [one for one in found if one.kind == "gpu"]

    yield ask
    sandboxes.close()


def test_the_reason_is_with_the_gpu_and_no_other(
    listed: Callable[[Callable[[], Mapping[str, str]]], list[TargetInfo]],
) -> None:
    first, second = listed(lambda: {"1a2b3c4d5e6f7000": "9 GiB are left"})
    assert (first.gpu_id, first.ready, first.quarantine) == ("1a2b3c4d5e6f7000", False, "9 GiB are left")
    assert first.note == "quarantined: 9 GiB are left"
    assert second.quarantine is None
    assert second.gpu_id is not None
    assert second.gpu_id.endswith("/dev/dri/renderD129"), "a product without a number of its own"


def test_without_its_database_a_gpu_is_listed_but_not_ready(
    listed: Callable[[Callable[[], Mapping[str, str]]], list[TargetInfo]],
) -> None:
    def fails() -> Mapping[str, str]:
        raise DatabaseError("the history cannot be used: disk I/O error")

    assert {(one.ready, one.note) for one in listed(fails)} == {(False, "the history cannot be used: disk I/O error")}


def test_a_gpu_has_one_id_from_each_machine() -> None:
    (gpu,) = gpus_of([NODE | {"drm_render_minor": 130}])
    assert id_of(gpu, None) == id_of(gpu, "gpu1") == "1a2b3c4d5e6f7000"

"""The queue of a sample without a GPU: a device refuses the memory or the wait that it says it has.

Two users reported that hipExtMallocWithFlags refuses hipMallocSignalMemory (gfx1151, ROCm 7 and 10), where
hipDeviceAttributeCanUseStreamWaitValue is 1 and a stream waits for memory of hipHostMalloc.
"""

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from amdkernel_mcp.bundled import folder

INVALID, NOT_SUPPORTED = 1, 801
Queue = Callable[..., tuple[Any, list[str]]]


class RefusedError(Exception):
    """In place of hip_calls.HipError."""


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    """A queue on a library whose functions of these names answer with an error, and the calls that were made."""
    memory = ctypes.create_string_buffer(b"\xff" * 64, 64)

    def make(*, waits: int = 1, **refused: int) -> tuple[Any, list[str]]:
        made: list[str] = []

        def call(function: Any, *_: Any) -> Any:
            made.append(function.__name__)
            if function.__name__ in refused:
                raise RefusedError(function.__name__)
            known = {"hipDeviceGetAttribute": waits, "hipEventElapsedTime": 0.5}
            return known.get(function.__name__, ctypes.addressof(memory))

        class Hip(ModuleType):
            hipDeviceAttribute_t = SimpleNamespace(hipDeviceAttributeCanUseStreamWaitValue=1)
            hipStreamCaptureMode = SimpleNamespace(hipStreamCaptureModeThreadLocal=1)
            hipMallocSignalMemory, hipHostMallocMapped, hipHostMallocCoherent = 2, 2, 0x40000000
            hipStreamNonBlocking, hipStreamWaitValueGte = 1, 0

            def __getattr__(self, name: str) -> Any:
                return SimpleNamespace(__name__=name)

        library = Hip("hip")
        calls = SimpleNamespace(call=call, HipError=RefusedError, synchronize=lambda: None)
        monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hip=library))
        monkeypatch.setitem(sys.modules, "hip_calls", calls)
        monkeypatch.setitem(sys.modules, "kernel_launch", SimpleNamespace(BoundLaunch=object))
        spec = importlib.util.spec_from_file_location("launch_queue", folder("sandbox") / "runner/launch_queue.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.LaunchQueue(), made

    return make


@pytest.mark.parametrize(
    ("refused", "filled", "freed"),
    [
        ({}, True, "hipFree"),
        ({"hipExtMallocWithFlags": INVALID}, True, "hipHostFree"),
        ({"hipExtMallocWithFlags": INVALID, "hipHostMalloc": INVALID}, False, None),
        ({"hipStreamWaitValue32": NOT_SUPPORTED}, False, "hipFree"),
        ({"waits": 0}, False, None),
    ],
)
def test_a_device_that_refuses_what_it_says_it_has_is_timed_all_the_same(
    queue: Queue, refused: dict[str, int], filled: bool, freed: str | None
) -> None:
    under_test, made = queue(**refused)
    assert under_test.sample_us("key", [lambda _: None]) == 500
    assert under_test.sample_us("key", [lambda _: None]) == 500
    assert under_test.filled is filled
    under_test.close()
    assert {"hipFree", "hipHostFree"} & {*made} == ({freed} if freed else set())
    assert made.count("hipStreamWaitValue32") == (2 if filled else int("hipStreamWaitValue32" in refused)), made

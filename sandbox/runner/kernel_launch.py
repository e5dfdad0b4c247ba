"""Launches of a case, bound to the addresses of one set of buffers."""

import ctypes
from dataclasses import dataclass
from typing import Any

import hip_calls
from guarded_buffer import GuardedBuffer
from hip import hip
from job_plan import Launch

# A kernel that takes more or larger parameters than the launch plan gives must read zeros, not our heap.
_SPARE_PARAMETERS = 64
_PARAMETER_ROOM = 256


@dataclass(frozen=True)
class BoundLaunch:
    """A launch that can be made again and again; it keeps its parameters alive."""

    launch: Launch
    function: Any
    _values: tuple[Any, ...]
    _pointers: Any

    def __call__(self, stream: Any = None) -> None:
        """Enqueue the launch, or record it where the stream is captured. Raises HipError."""
        hip_calls.call(
            hip.hipModuleLaunchKernel,
            self.function,
            *self.launch.grid,
            *self.launch.block,
            self.launch.lds_bytes,
            stream,
            ctypes.addressof(self._pointers),
            None,
        )


def bind(launch: Launch, function: Any, buffers: list[GuardedBuffer]) -> BoundLaunch:
    """`launch` with the addresses of `buffers`."""
    values = [
        _room(argument if isinstance(argument, bytes) else buffers[argument].address.to_bytes(8, "little"))
        for argument in launch.arguments
    ]
    values += [_room(b"")] * _SPARE_PARAMETERS
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    return BoundLaunch(launch, function, tuple(values), pointers)


def _room(value: bytes) -> Any:
    return ctypes.create_string_buffer(value, max(_PARAMETER_ROOM, len(value)))

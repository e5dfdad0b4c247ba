"""Inside the container: loads each file, launches its kernel `triple`, and prints what came out as a line of JSON."""

import ctypes
import json
import sys

hip = ctypes.CDLL("libamdhip64.so")
LANES, FACTOR = 64, 7


def launch(module: ctypes.c_void_p) -> int:
    """The value that lane 63 stored; the negative error where a call failed."""
    function, out, factor = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(FACTOR)
    arguments = (ctypes.c_void_p * 2)(
        ctypes.cast(ctypes.byref(out), ctypes.c_void_p), ctypes.cast(ctypes.byref(factor), ctypes.c_void_p)
    )
    values = (ctypes.c_int * LANES)()
    calls = (
        lambda: hip.hipModuleGetFunction(ctypes.byref(function), module, b"triple"),
        lambda: hip.hipMalloc(ctypes.byref(out), ctypes.c_size_t(4 * LANES)),
        lambda: hip.hipMemset(out, 0, ctypes.c_size_t(4 * LANES)),
        lambda: hip.hipModuleLaunchKernel(function, 1, 1, 1, LANES, 1, 1, 0, None, arguments, None),
        lambda: hip.hipMemcpy(values, out, ctypes.c_size_t(4 * LANES), 2),
    )
    for call in calls:
        if status := call():
            return -int(status)
    return values[LANES - 1]


for name in sys.argv[1:]:
    sys.stderr.write(f"file {name}\n")
    sys.stderr.flush()
    module = ctypes.c_void_p()
    status = hip.hipModuleLoad(ctypes.byref(module), name.encode())
    sys.stdout.write(json.dumps([name, status, None if status else launch(module)]) + "\n")
    sys.stdout.flush()

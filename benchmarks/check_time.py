"""How long a check takes from call to answer, on the emulator: `make bench`. The promise is 2 s for `known` and `new`.

`known`: the kernel was checked before, so the compile and the expected outputs come from the cache. `new`: a changed
kernel with new inputs, compiled before. `one seed` is the anchor: one seed, no other orders. Held-out cases are in all.
The other examples follow, `known` and its anchor alone: what the other seeds, the orders and the races cost there.
"""

import statistics
import tempfile
import time
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.compile import Compile

PROBLEM, KERNEL = "row_softmax", "better.hip"
ROUNDS, ROUNDS_OF_OTHERS = 7, 3
BAR_S = 2.0
ANCHOR = CheckOptions(seeds=(0,), schedules=0)


def main() -> None:
    """Print one line for each kind of check; the kinds alternate, so that drift hits all."""
    with tempfile.TemporaryDirectory() as data:
        engine = Engine(load_settings({"data_dir": Path(data)}))
        try:
            show(PROBLEM, with_changes(engine))
            print(f"the promise is {BAR_S:g} s for `known` and `new` of {PROBLEM}, on a quiet machine")
            for example in sorted(path.parents[1].name for path in folder("examples").glob("*/kernels/better.hip")):
                if example != PROBLEM:
                    show(example, known(engine, example))
        finally:
            engine.close()


def with_changes(engine: Engine) -> dict[str, list[float]]:
    """The seconds of each kind of check of the first example."""
    source = kernel(PROBLEM)
    taken: dict[str, list[float]] = {"one seed": [], "known": [], "new": []}
    checked(engine, PROBLEM, source, None)
    for number in range(ROUNDS):
        changed = f"{source}// {time.time_ns()} {number}\n"
        engine.do(Compile(source=changed, file_name=KERNEL))
        taken["one seed"].append(checked(engine, PROBLEM, source, ANCHOR))
        taken["known"].append(checked(engine, PROBLEM, source, None))
        taken["new"].append(checked(engine, PROBLEM, changed, None))
    return taken


def known(engine: Engine, problem: str) -> dict[str, list[float]]:
    """The seconds of a check of another example that was checked before, and of its anchor."""
    source = kernel(problem)
    taken: dict[str, list[float]] = {"one seed": [], "known": []}
    checked(engine, problem, source, None)
    for _ in range(ROUNDS_OF_OTHERS):
        taken["one seed"].append(checked(engine, problem, source, ANCHOR))
        taken["known"].append(checked(engine, problem, source, None))
    return taken


def show(problem: str, taken: dict[str, list[float]]) -> None:
    """A line for each kind."""
    anchor = statistics.median(taken["one seed"])
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        spread = f"{median:.2f} s, most {max(seconds):.2f} s"
        print(f"check of {problem}, {name}: {spread}, {median / anchor:.2f} x one seed", flush=True)


def kernel(problem: str) -> str:
    """The text of an example's better kernel."""
    return (folder("examples") / problem / "kernels" / KERNEL).read_text()


def checked(engine: Engine, problem: str, source: str, options: CheckOptions | None) -> float:
    """The seconds of one check, which must be correct."""
    start = time.perf_counter()
    result = engine.do(Check(problem=problem, source=source, file_name=KERNEL, options=options))
    seconds = time.perf_counter() - start
    assert result.verdict == "correct", result.reason
    return seconds


if __name__ == "__main__":
    main()

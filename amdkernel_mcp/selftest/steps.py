"""What a self-test runs: kernels whose verdict is known."""

from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """One kernel and its right verdicts. With a `baseline` it is benchmarked, else checked.

    on_gpu: the right verdicts where times are measured, if they are others. alone: it runs after those before it.
    near_one: the speed-up must be 1 as well, within the noise floor. copy: the kernel has one more comment than its
    baseline; on an emulated target the speed-up must be 1 exactly. hangs: a GPU may be reset for it.
    """

    name: str
    kernel: str
    verdicts: tuple[str, ...]
    problem: str = "scale"
    baseline: str | None = None
    on_gpu: tuple[str, ...] = ()
    alone: bool = False
    near_one: bool = False
    copy: bool = False
    hangs: bool = False

    @property
    def source(self) -> str:
        """The kernel's text."""
        return _kernel(self.kernel) + ("// a comment\n" if self.copy else "")

    @property
    def baseline_source(self) -> str | None:
        """The text of the kernel that it is compared with."""
        return None if self.baseline is None else _kernel(self.baseline)

    @property
    def folder(self) -> str:
        """The problem's folder."""
        return str(_HERE / "problems" / self.problem)


def _kernel(name: str) -> str:
    return (_HERE / "kernels" / f"{name}.hip").read_text(encoding="utf-8")


_INCORRECT = ("incorrect",)
_NOT_FASTER = ("inconclusive", "slower")

STEPS = (
    Step("an honest kernel", "plain", ("correct",)),
    Step("an honest sum with barriers", "plain_total", ("correct",), problem="total"),
    Step("a kernel against itself", "works", ("inconclusive",), baseline="works", near_one=True),
    Step("a kernel against its copy with a comment", "works", ("inconclusive",), baseline="works", copy=True),
    Step("a copy that does 5 % more", "works_more", _NOT_FASTER, baseline="works", on_gpu=("slower",)),
    Step("does nothing", "does_nothing", _INCORRECT),
    Step("does nothing, when timed", "does_nothing", _INCORRECT, baseline="plain"),
    Step("writes a constant", "writes_zeros", _INCORRECT),
    Step("passes its input through", "passes_through", _INCORRECT),
    Step("knows the announced shape only", "knows_shapes", _INCORRECT),
    Step("forgets the tail", "skips_the_tail", _INCORRECT),
    Step("is wrong in one element", "is_wrong_once", _INCORRECT),
    Step("computes in half of the digits", "computes_in_bfloat", _INCORRECT),
    Step("changes its input and restores it", "changes_its_input", _INCORRECT, on_gpu=("correct", "incorrect")),
    Step("scans memory for the expected result", "scans_memory", ("incorrect", "crashed")),
    Step("trusts what a workspace held", "reads_a_workspace_first", _INCORRECT, problem="total"),
    Step("remembers its first answer", "remembers", _INCORRECT, problem="total"),
    Step("lacks its barriers", "lacks_a_barrier", _INCORRECT, problem="total", on_gpu=("correct", "incorrect")),
    Step("uses a load before it has arrived", "does_not_wait", _INCORRECT, on_gpu=("correct", "incorrect")),
    Step(
        "waits for more workgroups than fit",
        "waits_for_too_many",
        ("deadlock",),
        problem="total",
        on_gpu=("timeout",),
        hangs=True,
    ),
    Step("takes more LDS than there is", "uses_too_much_lds", ("invalid",)),
    Step(
        "idles when it seems to be measured",
        "notices_that_it_is_measured",
        ("incorrect", "inconclusive"),
        baseline="plain",
        on_gpu=("incorrect", "inconclusive", "slower"),
    ),
    Step("stores outside its arrays", "crashes", ("crashed",), alone=True),
    Step("the next job after that", "plain", ("correct",), alone=True),
    Step("never ends", "hangs", ("timeout",), alone=True, hangs=True),
    Step("the next job after that", "plain", ("correct",), alone=True),
)

"""Which row is best, which tie, and which are not ranked, from counts that are written down here."""

from amdkernel_mcp.engine.tuning.answer import answer_of
from amdkernel_mcp.engine.tuning.outcome import Outcome
from amdkernel_mcp.engine.tuning.ranking import RankedRow, rank_counted, rank_timed
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckVerdict
from amdkernel_mcp.results.quantity import Interval, Quantity
from amdkernel_mcp.results.tuning import TuneResult

MI300X = gpu_by_name("MI300X")
MIB = 1 << 20


def side(instructions: float, *, stored: float = 1024 * MIB, waits: float = 0.0) -> Side:
    """A kernel that is bounded by the memory until it has very many instructions."""
    counters = {
        "SQ_WAVES": 1 << 20,
        "SQ_INSTS": instructions,
        "SQ_INSTS_VALU": instructions,
        "memory_bytes_read": 1024 * MIB,
        "memory_bytes_written": 1024 * MIB,
        "bytes_loaded": 1024 * MIB,
        "bytes_stored": stored,
        "waits_for_memory": waits,
        "SQ_INSTS_VMEM_RD": waits,
    }
    work = Footprint(1024 * MIB, 1024 * MIB)
    dispatch = Dispatch("k", (1 << 18, 1, 1), (256, 1, 1), counters, work)
    return Side((CaseRun("n=1", (dispatch,), (), (work,), work),))


def outcome(name: str, found: Side | None, verdict: CheckVerdict = "correct") -> Outcome:
    return Outcome({"TILE": name}, verdict, "a race" if verdict != "correct" else "all cases are correct", side=found)


def counted(*outcomes: Outcome) -> tuple[list[RankedRow], TuneResult]:
    rows = rank_counted(outcomes, gpu=MI300X, target="emulator:gfx942")
    values = tuple(each.values["TILE"] for each in outcomes)
    space = Space({"TILE": values}, outcomes[0].values)
    return rows, answer_of(rows, space=space, options=TuneOptions(), strategy="sweep", emulated=True)


SLOW, FAST = side(4e9), side(1e7)


def test_a_row_that_is_faster_beyond_the_model_is_best() -> None:
    rows, answer = counted(outcome("1", SLOW), outcome("2", FAST))
    assert [row.outcome.values["TILE"] for row in rows] == ["2", "1"]
    assert answer.verdict == "faster"
    assert answer.best == {"TILE": "2"}
    assert answer.line == "// amdkernel: build -DTILE=2"
    assert answer.reason.startswith("modelled: TILE=2 is "), answer.reason
    assert answer.rows[0].compared == "faster"
    assert answer.rows[0].interval_us.high > answer.rows[0].time_us.value


def test_what_the_model_cannot_tell_apart_is_a_tie_and_no_claim() -> None:
    _, answer = counted(outcome("1", side(1e7)), outcome("2", side(1.01e7)), outcome("3", SLOW))
    assert answer.verdict == "inconclusive"
    assert [row.tie for row in answer.rows] == [False, True, False]
    assert "no row is surely faster than the default values" in answer.reason
    assert "a tie within the interval: TILE=2" in answer.reason
    assert answer.rows[2].compared == "slower"


def test_of_rows_that_tie_the_one_with_the_smallest_upper_estimate_is_best() -> None:
    _, answer = counted(outcome("1", SLOW), outcome("2", side(1e7, waits=1e9)), outcome("3", side(1.001e7)))
    assert answer.best == {"TILE": "3"}


def test_a_row_that_is_not_correct_is_shown_and_never_ranked() -> None:
    _, answer = counted(outcome("1", SLOW), outcome("2", FAST, "incorrect"), outcome("3", None, "crashed"))
    assert answer.best == {"TILE": "1"}
    assert [(row.values["TILE"], row.verdict, row.rank) for row in answer.rows[1:]] == [
        ("2", "incorrect", None),
        ("3", "crashed", None),
    ]
    assert answer.rows[1].time_us.value is None
    assert answer.rows[1].reason == "a race"


def test_a_row_that_did_not_do_the_work_is_invalid() -> None:
    _, answer = counted(outcome("1", SLOW), outcome("2", side(1e7, stored=1000.0)))
    assert answer.best == {"TILE": "1"}
    assert (answer.rows[1].verdict, answer.rows[1].rank) == ("invalid", None)
    assert "not all of the work was done" in answer.rows[1].reason


def test_where_the_default_is_wrong_no_ratio_is_claimed() -> None:
    _, answer = counted(outcome("1", None, "incorrect"), outcome("2", FAST), outcome("3", SLOW))
    assert (answer.verdict, answer.best) == ("inconclusive", {"TILE": "2"})
    assert answer.speedup.value is None
    assert all(row.ratio.value is None and row.compared is None for row in answer.rows)
    assert "the default values TILE=1 are incorrect" in answer.reason


def test_where_no_row_is_correct_there_is_nothing_to_choose() -> None:
    _, answer = counted(outcome("1", None, "incorrect"), outcome("2", None, "timeout"))
    assert (answer.verdict, answer.best, answer.line) == ("incorrect", None, None)
    assert answer.reason == "none of 2 rows is correct; TILE=1: a race"


def timed(name: str, ratio: tuple[float, float, float], rung: int) -> Outcome:
    value, low, high = ratio
    answer = BenchmarkResult(
        verdict="faster" if low > 1.005 else "inconclusive",
        reason=f"{value} times as fast",
        speedup=Interval(value=value, low=low, high=high),
        time_us=Quantity(value=100 / value, evidence="measured"),
    )
    return Outcome({"TILE": name}, "correct", "", timed=answer, rung=rung)


def test_on_a_gpu_rows_that_were_timed_longer_come_first() -> None:
    default = timed("1", (1, 1, 1), 0)
    rows = rank_timed(
        [
            default,
            timed("2", (1.30, 1.2, 1.4), 1),
            timed("3", (1.25, 1.24, 1.26), 5),
            timed("4", (1.24, 1.23, 1.245), 5),
        ],
        target="local:0",
    )
    assert [row.outcome.values["TILE"] for row in rows] == ["3", "4", "2", "1"]
    assert [row.tie for row in rows] == [False, True, True, False]
    space = Space({"TILE": ("1", "2", "3", "4")}, {"TILE": "1"})
    answer = answer_of(rows, space=space, options=TuneOptions(), strategy="sweep", emulated=False)
    assert answer.verdict == "faster"
    assert answer.reason.startswith("TILE=3 is 1.25 times as fast as the default values TILE=1 (1.24 to 1.26)")
    assert answer.evidence == "measured"

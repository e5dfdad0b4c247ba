"""What a record adds to a call, and how long lists take among 100,000 attempts: `make bench`.

The bars: 5 ms for a record, 50 ms for a list. The anchor is the answer without a record.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import insert

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database.open_database import writing
from amdkernel_mcp.database.tables import attempts
from amdkernel_mcp.history.attempt import Attempt, ProblemUsed, canonical, new_id, now
from amdkernel_mcp.history.history import History
from amdkernel_mcp.history.lines import columns_of
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CaseResult, CheckResult, Finding

ATTEMPTS = 100_000
ROUNDS = 200
USERS, PROBLEMS = 7, 11


def answer(number: int) -> CheckResult:
    """An answer as long as that of a check with findings."""
    cases = [CaseResult(case=f"n={n}", held_out=False, verdict="correct", reason="all is well") for n in range(30)]
    finding = Finding(kind="race", message=f"lanes {number} and 1 write tile[0] without a barrier", line=number % 90)
    return CheckResult(verdict="incorrect", reason=str(number), cases=cases, findings=[finding], target="emulator")


def source(number: int) -> str:
    """A kernel file of its own, of 8 KB."""
    return "".join(f"// line {line} of {number if line % 50 == 0 else 0}\n" for line in range(400))


def fill(settings: Settings) -> list[str]:
    """Store many attempts of several users on several problems, as rows. Returns their ids."""
    history = History(settings)
    kept = history.artefacts.keep(source(0).encode())
    ids: list[str] = []
    for start in range(0, ATTEMPTS, 1000):
        rows = []
        for number in range(start, start + 1000):
            attempt = Attempt(
                id=new_id(), verb="check", created=now(), by=f"user:{number % USERS}", parent=ids[-1] if ids else None,
                version="0", file_name="kernel.hip", source=kept, baseline=None,
                problem=ProblemUsed(name=f"problem_{number % PROBLEMS}", files={}), target="emulator", options={},
                verdict="incorrect", answer=answer(number).model_dump(mode="json"),
            )  # fmt: skip
            ids.append(attempt.id)
            rows.append(columns_of(attempt) | {"record": canonical(attempt), "signature": b"", "public_key": b""})
        with writing(history._engine) as connection:
            connection.execute(insert(attempts), rows)
    history.close()
    return ids


def milliseconds(work: Callable[[int], object], rounds: int = ROUNDS) -> list[float]:
    """How long each call takes."""
    taken = []
    for number in range(rounds):
        start = time.perf_counter()
        work(number)
        taken.append((time.perf_counter() - start) * 1e3)
    return taken


def report(name: str, taken: list[float], bar_ms: float) -> None:
    """One line: the median, the spread, the bar."""
    ranked = sorted(taken)
    print(
        f"{name}: {statistics.median(taken):.2f} ms  [{ranked[0]:.2f}, {ranked[len(ranked) * 95 // 100]:.2f} at 95 %]  "
        f"bar {bar_ms:g} ms  {len(taken)} rounds"
    )


def main() -> None:
    """Print one line for each figure. An argument: the URL of an empty Postgres database."""
    with tempfile.TemporaryDirectory(prefix="amdkernel-history-") as folder:
        database = sys.argv[1] if len(sys.argv) > 1 else None
        settings = load_settings({"data_dir": Path(folder), "cache_dir": Path(folder, "cache"), "database": database})
        ids = fill(settings)
        recorder, problem = Recorder(settings), load_problem("vector_add")
        history = recorder.history()

        def record(number: int) -> None:
            tried = Tried("check", source(number), "kernel.hip", "user:1", problem)
            assert recorder.record(tried, answer(number)).attempt

        report(f"recording among {ATTEMPTS:,}", milliseconds(record), 5)
        report("the same text again", milliseconds(lambda _: record(1)), 5)
        lists: dict[str, Callable[[int], object]] = {
            "the last 20": lambda _: history.list(),
            "the last 200": lambda _: history.list(limit=200),
            "of a user": lambda n: history.list(by=f"user:{n % USERS}", limit=200),
            "on a problem": lambda n: history.list(problem=f"problem_{n % PROBLEMS}", limit=200),
            "of a user on a problem": lambda n: history.list(by=f"user:{n % USERS}", problem="problem_3", limit=200),
            "of a user without attempts": lambda _: history.list(by="user:none"),
            "older than one in the middle": lambda n: history.list(before=ids[ATTEMPTS // 2 + n], limit=200),
        }
        for name, work in lists.items():
            report(f"list: {name}", milliseconds(work), 50)
        report("find by 6 letters", milliseconds(lambda n: history.find(ids[n * 7][:6])), 50)
        report(
            "search lessons", milliseconds(lambda _: history.search_lessons("race barrier", by="user:1", limit=3)), 50
        )
        recorder.close()


if __name__ == "__main__":
    main()

"""`amdkernel tune` and `amdkernel reward` at a shell, where no sandbox is needed."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from amdkernel_mcp.cli.main import run
from amdkernel_mcp.cli.show.history import show_attempt
from amdkernel_mcp.cli.show.tuning import show_tuning
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.history import AttemptShown
from amdkernel_mcp.results.quantity import Interval, Quantity
from amdkernel_mcp.results.tuning import TuneResult, TuneRow

DEFAULT = TuneRow(
    values={"TILE": "16"},
    verdict="correct",
    reason="",
    rank=1,
    time_us=Quantity(value=2.5, evidence="modelled"),
    ratio=Interval(value=1, low=1, high=1),
    default=True,
)
WRONG = TuneRow(values={"TILE": "[red]"}, verdict="incorrect", reason="a race on line 3")


def shown(result: TuneResult) -> str:
    stream = io.StringIO()
    show_tuning(Console(file=stream, width=120, color_system=None), result, KernelSource("", "k.hip"))
    return stream.getvalue()


def test_a_row_that_is_not_correct_has_no_figures_and_says_why() -> None:
    text = shown(TuneResult(verdict="inconclusive", evidence="modelled", rows=[DEFAULT, WRONG], line="// the line"))
    ranked, refused = (next(line for line in text.splitlines() if name in line) for name in ("TILE=16", "TILE=[red]"))
    assert ranked.split() == ["1", "TILE=16", "correct", "2.5", "us", "1x", "default,", "best"]
    assert refused.split() == ["TILE=[red]", "incorrect"]
    assert "TILE=[red]: a race on line 3" in text
    assert "in place of the `tune` lines:  // the line" in text


def test_a_modelled_row_shows_intervals_and_no_middle() -> None:
    low_high, ratio = Interval(value=3.4, low=2.7, high=5.6), Interval(value=12.15, low=1.62, high=51.07)
    row = WRONG.model_copy(
        update={"verdict": "correct", "rank": 1, "time_us": DEFAULT.time_us, "interval_us": low_high, "ratio": ratio}
    )
    modelled = shown(TuneResult(verdict="faster", evidence="modelled", rows=[row], speedup=ratio))
    assert "1.62x to 51.1x" in modelled.splitlines()[0]
    assert "2.7 to 5.6 us" in modelled
    assert "12" not in modelled, "the middle of a modelled ratio estimates nothing"
    measured = shown(TuneResult(verdict="faster", evidence="measured", rows=[row], speedup=ratio))
    assert "12.2x  [1.62, 51.1]" in measured


def test_the_record_of_a_sweep_names_the_records_of_its_rows() -> None:
    answer = TuneResult(verdict="faster", rows=[DEFAULT.model_copy(update={"attempt": "kq7fx2abcd"}), WRONG])
    names = ("id", "created", "by", "target", "parent", "version", "file_name", "problem")
    record = dict.fromkeys(names) | {"verb": "tune", "verdict": "faster", "answer": answer.model_dump(mode="json")}
    stream = io.StringIO()
    shown = AttemptShown(attempt=record, source="", diff=None, key="k")
    show_attempt(Console(file=stream, width=120, color_system=None), shown)
    assert any(
        line.split() == ["1", "TILE=16", "correct", "1x", "kq7fx2abcd"] for line in stream.getvalue().splitlines()
    )
    assert "TILE=[red]" in stream.getvalue()


def test_an_incorrect_default_has_no_ratio() -> None:
    row = WRONG.model_copy(update={"default": True})
    assert "1x" not in shown(TuneResult(verdict="incorrect", rows=[row]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["k.hip"], "give a problem and a kernel file"),
        (["vector_add", "k.hip", "more"], "give a problem and a kernel file"),
        (["vector_add", "k.hip", "--problem", "vector_add"], "give a problem and a kernel file"),
        (["vector_add", "no.hip"], "no.hip: there is no such file"),
        (["vector_add", "k.hip", "--html", "no/page.html"], "a file in a folder that exists"),
        (["vector_add", "k.hip", "--html", "/proc/page.html"], "cannot be written: no such file or directory"),
        (["vector_add", "k.hip", "--rows", "257"], "--rows"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.hip").write_text("")
    assert run(["tune", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_reward_of_no_attempt_and_of_a_foreign_export_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AMDKERNEL_DATA_DIR", str(tmp_path / "data"))
    assert run(["reward", "kq7fx2"]) == 2
    assert "there is no attempt 'kq7fx2'" in capsys.readouterr().err
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "attempt.json").write_text("{}")
    (tmp_path / "export" / "attempt.sig").write_bytes(bytes(64))
    assert run(["reward", str(tmp_path / "export")]) == 2
    assert "this server did not sign this record" in capsys.readouterr().err

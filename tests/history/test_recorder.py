"""A verb's answer names its record; a record that cannot be made never costs the answer."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.attempts import Attempts
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import (
    BenchmarkResult,
    CaseResult,
    CheckResult,
    CompileResult,
    TimingConditions,
    Worst,
)
from amdkernel_mcp.results.quantity import Quantity

ANSWER = CheckResult(verdict="incorrect", reason="wrong", target="emulator:gfx942")


@pytest.fixture
def recorder(own_settings: Settings) -> Iterator[Recorder]:
    made = Recorder(own_settings)
    yield made
    made.close()


def test_an_answer_names_its_record(recorder: Recorder) -> None:
    problem = load_problem("vector_add")
    named = recorder.record(Tried("check", "the source", "add.hip", problem=problem), ANSWER)
    assert named.attempt is not None
    kept = recorder.history().find(named.attempt).attempt
    assert (kept.verdict, kept.file_name, kept.by) == ("incorrect", "add.hip", "local")
    assert recorder.history().artefacts.read(kept.source) == b"the source"
    assert kept.problem is not None
    declaration = recorder.history().artefacts.read(kept.problem.files["problem.toml"]).decode()
    assert declaration == Path(problem.folder, "problem.toml").read_text()


def test_a_record_has_the_whole_answer(recorder: Recorder) -> None:
    named = recorder.record(Tried("compile", "", "k.hip"), CompileResult(ok=True, arch="gfx942"))
    kept = recorder.history().find(named.attempt or "").attempt
    assert kept.verdict == "compiled"
    assert kept.answer["arch"] == "gfx942"


def test_without_a_folder_the_answer_is_given_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    answer = Recorder(load_settings({"data_dir": tmp_path / "data"}, {})).record(Tried("check", "", "k.hip"), ANSWER)
    assert answer.verdict == "incorrect"
    assert answer.attempt is None
    assert "cannot be used" in (answer.not_recorded or "")


def test_a_disk_that_is_writable_again_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    recorder = Recorder(load_settings({"data_dir": tmp_path / "data"}, {}))
    assert recorder.record(Tried("check", "", "k.hip"), ANSWER).attempt is None
    (tmp_path / "data").unlink()
    assert recorder.record(Tried("check", "", "k.hip"), ANSWER).not_recorded is None


def test_a_full_disk_costs_the_record_alone(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder.history()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    answer = recorder.record(Tried("check", "a new text", "k.hip"), ANSWER)
    assert answer.not_recorded == "the artefacts cannot be written: No space left on device"
    recorder.close()


HOSTILE = "nul \0, half a pair \ud800, reordering \u202e, an emoji 🙂"


def test_an_answer_may_hold_any_text_and_any_number(recorder: Recorder) -> None:
    worst = Worst(argument="y", index=[0], got=float("nan"), expected=float("-inf"))
    case = CaseResult(case=HOSTILE, held_out=False, verdict="incorrect", reason=HOSTILE, worst=worst)
    answer = CheckResult(verdict="incorrect", reason=HOSTILE, cases=[case], target="emulator:gfx942")
    named = recorder.record(Tried("check", "// 🙂 \0", f"{HOSTILE}.hip"), answer)
    assert named.not_recorded is None
    stored = recorder.history().find(named.attempt or "")
    assert json.loads(stored.record, parse_constant=pytest.fail)["answer"]["cases"][0]["worst"]["got"] == "nan"
    assert recorder.history().list()[0].reason.startswith("nul \ufffd, half a pair ?")
    assert recorder.history().artefacts.read(stored.attempt.source) == "// 🙂 \0".encode()


def test_a_text_that_no_file_can_hold_costs_the_record_alone(recorder: Recorder) -> None:
    answer = recorder.record(Tried("check", "half \ud800 of a pair", "k.hip"), ANSWER)
    assert (answer.verdict, answer.attempt) == ("incorrect", None)
    assert answer.not_recorded == "internal error (UnicodeEncodeError)"


def test_a_large_source_is_recorded_and_found_again(recorder: Recorder) -> None:
    texts = ["".join(f"// {n} {salt}\n" for n in range(1_000_000)) for salt in "ab"]
    first, second = (recorder.record(Tried("check", text, "k.hip"), ANSWER).attempt or "" for text in texts)
    found = recorder.history().find(second).attempt
    assert found.parent == first
    assert len(recorder.history().artefacts.read(found.source)) > 10 << 20
    assert recorder.history().list()[0].changed is None


def test_two_users_with_the_same_text_have_attempts_of_their_own(recorder: Recorder) -> None:
    for by in ("user:ann", "user:bob"):
        recorder.record(Tried("check", "the same", "k.hip", by), ANSWER)
    ann, bob = (recorder.history().list(by=by) for by in ("user:ann", "user:bob"))
    assert len(ann) == len(bob) == 1
    assert ann[0].source == bob[0].source
    assert ann[0].id != bob[0].id
    assert ann[0].parent is bob[0].parent is None


def test_the_parent_is_the_attempt_before_unless_the_caller_names_one(recorder: Recorder) -> None:
    attempts = Attempts(recorder, None)  # type: ignore[arg-type]  # nothing is replayed here
    problem = load_problem("vector_add")

    def parent_of_next(named: str | None = None) -> str | None:
        kept = recorder.record(Tried("check", "source", "k.hip", "local", problem, parent=named), ANSWER)
        return recorder.history().find(kept.attempt or "").attempt.parent

    first, other = (
        recorder.record(Tried("check", "", "k.hip", by), ANSWER).attempt or "" for by in ("local", "user:b")
    )
    assert parent_of_next() is None
    assert parent_of_next(attempts.whole_id(first[:8], by="local")) == first
    assert parent_of_next() not in (None, first)
    for name in (other, "nope", ""):
        with pytest.raises(HistoryError, match="there is no attempt"):
            attempts.whole_id(name, by="local")


def test_a_line_says_what_changed_and_what_it_gained(recorder: Recorder) -> None:
    problem = load_problem("vector_add")
    for text, time_us in (("a\nb\n", 30.0), ("a\nc\nd\n", 20.0), ("a\nc\nd\n", 20.0)):
        answer = BenchmarkResult(time_us=Quantity(value=time_us, evidence="modelled"), target="emulator:gfx942")
        recorder.record(Tried("benchmark", text, "k.hip", problem=problem), answer)
    lines = recorder.history().list()
    assert [line.changed for line in lines] == ["same text", "+2 -1", None]
    assert [line.gain for line in lines] == [1.0, 1.5, None]


def test_times_of_another_case_or_of_the_problem_as_it_was_are_no_gain(recorder: Recorder) -> None:
    problem = load_problem("vector_add")
    edited = dataclasses.replace(problem, reference=problem.reference + "\n# edited\n")
    assert edited.hash != problem.hash
    for case, of, time_us in (
        ("n=9", problem, 6.0),
        ("n=1", problem, 1.0),
        ("n=9", problem, 3.0),
        ("n=9", edited, 1.0),
    ):
        answer = BenchmarkResult(
            case=case, time_us=Quantity(value=time_us, evidence="modelled"), target="emulator:gfx942", verdict="faster"
        )
        recorder.record(Tried("benchmark", "a", "k.hip", problem=of), answer)
    lines = recorder.history().list()
    assert [line.gain for line in lines] == [None, 2.0, None, None]
    assert [line.timed_case for line in lines] == ["n=9", "n=9", "n=1", "n=9"]
    (best,) = recorder.history().best("local", 9)
    assert (best.attempt, best.tried) == (lines[0].id, 1)


def test_times_of_other_evidence_or_targets_are_no_gain(recorder: Recorder) -> None:
    problem = load_problem("vector_add")
    for target, evidence in (("local:0", "measured"), ("emulator:gfx942", "modelled"), ("emulator:gfx942", "measured")):
        quantity = Quantity.model_validate({"value": 5.0, "evidence": evidence})
        answer = BenchmarkResult(time_us=quantity, target=target)
        recorder.record(Tried("benchmark", "a", "k.hip", problem=problem), answer)
    assert [line.gain for line in recorder.history().list()] == [None, None, None]


def test_all_samples_are_in_the_record_and_not_in_the_answer(recorder: Recorder) -> None:
    pairs = [[(1.0, 2.0), (1.5, 2.5)]]
    timing = TimingConditions(
        pairs=2, clock="c", launches_per_sample=[1], buffer_sets=[1], footprint_bytes=[1], cache_protocol="p",
        settled_us=[1.0], idle_before="", idle_after="", rocm="7.2", driver="6", gpu="0xabc", samples_us=pairs,
        kernel_trace="not_measured",
    )  # fmt: skip
    answer = recorder.record(Tried("benchmark", "a", "k.hip"), BenchmarkResult(timing=timing))
    assert answer.timing
    assert answer.timing.samples_us == []
    kept = recorder.history().find(answer.attempt or "").attempt.answer["timing"]
    assert (kept["samples_us"], kept["gpu"], kept["driver"]) == ([[[1.0, 2.0], [1.5, 2.5]]], "0xabc", "6")


def test_a_verdict_says_that_another_user_has_changed_the_problem_since_the_last_one(recorder: Recorder) -> None:
    old = replace(load_problem("vector_add"), author="ann")
    new = replace(old, reference=old.reference + "\n# changed\n")
    first = recorder.record(Tried("check", "", "k.hip", "user:bob", old), ANSWER)
    assert first.notes == []
    assert recorder.record(Tried("check", "", "k.hip", "user:bob", old), ANSWER).notes == []
    told = recorder.record(Tried("check", "", "k.hip", "user:bob", new), ANSWER)
    assert "ann has changed vector_add since your attempt" in told.notes[0]
    kept = recorder.history().find(told.attempt or "").attempt
    assert kept.answer["notes"] == told.notes
    assert recorder.record(Tried("check", "", "k.hip", "user:bob", new), ANSWER).notes == []
    mine = replace(old, author=None)
    assert recorder.record(Tried("check", "", "k.hip", "user:bob", mine), ANSWER).notes == []

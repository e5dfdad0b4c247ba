"""`read_doc` opens problems, guides and whole answers; `search_docs` finds them, ours first."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.cache_folder import answers_folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem
from amdkernel_mcp.profiling.rules import recorded
from amdkernel_mcp.profiling.rules.answer import CURES, GUIDE, docs_of
from amdkernel_mcp.profiling.rules.emulated import RULES
from amdkernel_mcp.reading.guides import GUIDES, guides_in


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """On a machine without an index."""
    made = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}, {}))
    yield made
    made.close()


@pytest.mark.parametrize("name", bundled_problems())
def test_a_problem_page_says_all_that_a_kernel_must_know(engine: Engine, name: str) -> None:
    problem = load_problem(name)
    text = engine.read(f"problem:{name}", max_chars=50_000).text
    for argument in problem.arguments:
        assert f"| {argument.name} | {argument.role} | {argument.dtype.name} |" in text
    assert problem.description in text
    assert problem.reference.strip() in text
    assert "// amdkernel: launch" in text, "a kernel to start from"
    assert f"timed and profiled is {problem.profile_cases[0].name}." in text
    for case in problem.cases:
        shown = "- " + ", ".join(f"{key}={value}" for key, value in case.values.items())
        assert (shown in text.splitlines()) == (not case.held_out), case


def test_a_problem_is_read_by_name_and_never_by_path(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "problem.toml").write_text("title = 'secret'")
    for ref in (f"problem:{folder}", "problem:../examples/rmsnorm", "problem:nosuch"):
        with pytest.raises(AmdkernelError, match="there is no problem") as caught:
            engine.read(ref)
        assert "row_softmax" in str(caught.value.hint)


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_is_read_in_parts_and_by_section(engine: Engine, name: str) -> None:
    first = engine.read(f"guide:{name}", max_chars=300)
    assert first.next_start
    assert engine.read(f"guide:{name}", max_chars=300, start=first.next_start).text not in first.text
    for section in first.sections[1:4]:
        part = engine.read(section.ref, max_chars=50_000)
        assert part.text.lstrip("# ").replace("`", "").startswith(section.heading)
        assert part.text == engine.read(f"guide:{name}", section=section.heading, max_chars=50_000).text


def test_an_unknown_guide_or_section_names_what_there_is(engine: Engine) -> None:
    with pytest.raises(AmdkernelError) as guide:
        engine.read("guide:nosuch")
    assert "guide:kernel" in str(guide.value.hint)
    with pytest.raises(AmdkernelError) as section:
        engine.read("guide:problem", section="tolerances")
    assert "Tolerance" in str(section.value.hint)


@pytest.mark.parametrize(
    ("query", "ref"),
    [
        ("problem.toml format", "guide:problem"),
        ("how do I write reference.py", "guide:problem"),
        ("what is a launch plan", "guide:kernel"),
        ("what does not_emulated mean", "guide:errors"),
        ("rmsnorm dtype", "problem:rmsnorm"),
        ("modelled times of profile_kernel", "guide:profile"),
    ],
)
def test_a_search_finds_our_own_pages_first_and_without_an_index(engine: Engine, query: str, ref: str) -> None:
    found = engine.search(query)
    assert found.exact[0].ref.startswith(ref)
    assert engine.read(found.exact[0].ref).text


@pytest.mark.parametrize(
    "query", ["LDS bank conflicts", "hipMalloc", "v_mfma_f32_32x32x8_f16", "profiling with rocprof"]
)
def test_a_question_about_something_else_finds_no_guide(query: str) -> None:
    assert guides_in(query) == []


def test_a_whole_answer_is_read_by_its_full_digest_only(engine: Engine, tmp_path: Path) -> None:
    data = b'{"long": "' + b"x" * 9000 + b'"}'
    digest = hashlib.sha256(data).hexdigest()
    answers_folder(tmp_path / "cache" / "answers").write(f"{digest[:16]}.json", data)
    first = engine.read(f"artefact:{digest}", max_chars=5000)
    rest = engine.read(f"artefact:sha256:{digest}", start=first.next_start or 0, max_chars=9000)
    assert (first.text + rest.text).encode() == data
    for other in (digest[:16], digest[:-1] + ("0" if digest[-1] != "0" else "1"), "../x", digest.upper()):
        with pytest.raises(AmdkernelError, match="there is no artefact"):
            engine.read(f"artefact:{other}")


@pytest.mark.parametrize(
    "section", sorted({rule.section for rule in RULES} | {rule.section for rule in recorded.RULES})
)
def test_every_finding_of_a_profile_names_a_section_that_opens(engine: Engine, section: str) -> None:
    opened = engine.read(f"{GUIDE}{section}")
    assert opened.ref == f"{GUIDE}{section}"
    assert "*Try*" in opened.text or section == "recordings-of-a-gpu"


@pytest.mark.parametrize("section", CURES)
def test_a_finding_opens_the_guide_that_cures_it_first(engine: Engine, section: str) -> None:
    cure, explained = docs_of(section)
    assert "## The naive kernel" in engine.read(cure, max_chars=50_000).text
    assert explained == f"{GUIDE}{section}"


def test_a_word_that_names_a_problem_by_chance_does_not_hide_the_guide(engine: Engine) -> None:
    found = engine.search("avoid LDS bank conflicts in a matrix transpose on MI300X")
    assert [card.ref for card in found.exact][:2] == ["guide:lds-transpose", "problem:transpose"]

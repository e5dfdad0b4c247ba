"""Problems that callers made are stored for each user, and only what can be used is stored."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import InputError, ProblemFileError
from amdkernel_mcp.problems.own_problems import OwnProblems
from amdkernel_mcp.problems.problem import Problem

TOML = (folder("examples") / "vector_add" / "problem.toml").read_text()
REFERENCE = (folder("examples") / "vector_add" / "reference.py").read_text()


def accept(_: Problem) -> None:
    """An examination that finds nothing."""


@pytest.fixture
def own(tmp_path: Path) -> OwnProblems:
    return OwnProblems(tmp_path / "problems")


def test_a_created_problem_is_found_by_its_user_alone(own: OwnProblems) -> None:
    made = own.create("mine", TOML, REFERENCE, "user:ann", examine=accept)
    assert made.name == "mine"
    assert own.find("mine", "user:ann") == Path(made.folder)
    assert own.names("user:ann") == ["mine"]
    assert own.find("mine", "user:bob") is None


def test_the_same_name_again_replaces_the_problem(own: OwnProblems) -> None:
    first = own.create("mine", TOML, REFERENCE, "local", examine=accept)
    second = own.create("mine", TOML.replace("1e-", "2e-"), REFERENCE + "\n# changed\n", "local", examine=accept)
    assert first.hash != second.hash
    assert own.names("local") == ["mine"]


def test_what_is_refused_leaves_the_older_problem_in_place(own: OwnProblems) -> None:
    def refuse(_: Problem) -> None:
        raise ProblemFileError("a constant passes", file="/somewhere/reference.py", line=3)

    first = own.create("mine", TOML, REFERENCE, "local", examine=accept)
    with pytest.raises(ProblemFileError, match="a constant passes"):
        own.create("mine", TOML, REFERENCE + "\n# changed\n", "local", examine=refuse)
    kept = own.find("mine", "local")
    assert kept is not None
    assert (kept / "reference.py").read_text() == first.reference


def test_a_mistake_is_reported_with_the_file_as_the_caller_knows_it(own: OwnProblems) -> None:
    with pytest.raises(ProblemFileError) as caught:
        own.create("mine", TOML + "\nnonsense = 1\n", REFERENCE, "local", examine=accept)
    assert caught.value.file == "problem.toml"
    assert caught.value.line is not None
    assert ".new-" not in caught.value.message


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-x", "x" * 65, "x\n", "vector_add"])
def test_a_name_that_cannot_be_used_is_refused(own: OwnProblems, name: str) -> None:
    with pytest.raises(InputError):
        own.create(name, TOML, REFERENCE, "local", examine=accept)
    assert own.find(name, "local") is None


def test_users_cannot_reach_the_folders_of_others_by_their_names(own: OwnProblems) -> None:
    own.create("mine", TOML, REFERENCE, "user:ann", examine=accept)
    for other in ("user:ann/..", "../user%3Aann", "user%3Aann", "."):
        assert own.find("mine", other) is None


def test_text_that_is_not_unicode_is_refused(own: OwnProblems) -> None:
    with pytest.raises(InputError, match="Unicode"):
        own.create("mine", TOML + "# \ud800", REFERENCE, "local", examine=accept)


def test_a_shared_problem_is_found_by_all_and_replaced_only_by_who_shared_it(own: OwnProblems) -> None:
    made = own.create("ours", TOML, REFERENCE, "user:ann", shared=True, examine=accept)
    assert own.find("ours", "user:bob") == Path(made.folder)
    assert (own.names("user:bob"), own.sharer("ours", "user:bob")) == (["ours"], "ann")
    again = own.create("ours", TOML, REFERENCE + "\n# changed\n", "user:ann", shared=True, examine=accept)
    assert again.hash != made.hash
    assert own.sharer("ours", "user:bob") == "ann"


def test_a_users_own_problem_comes_before_a_shared_one_of_the_same_name(own: OwnProblems) -> None:
    own.create("ours", TOML, REFERENCE, "user:ann", shared=True, examine=accept)
    mine = own.create("ours", TOML, REFERENCE + "\n# mine\n", "user:bob", examine=accept)
    assert own.find("ours", "user:bob") == Path(mine.folder)
    assert own.sharer("ours", "user:bob") is None
    assert own.sharer("ours", "user:cid") == "ann"
    own.create("mine", TOML, REFERENCE, "user:bob", examine=accept)
    with pytest.raises(InputError, match="that is not shared"):
        own.create("mine", TOML, REFERENCE, "user:bob", shared=True, examine=accept)


def test_who_first_shared_a_name_does_not_own_it_for_all(own: OwnProblems) -> None:
    made = {
        user: own.create("ours", TOML, f"{REFERENCE}\n# of {user}\n", user, shared=True, examine=accept)
        for user in ("user:ann", "user:bob", "user:oidc:a/b")
    }
    own.create("theirs", TOML, REFERENCE, "user:bob", shared=True, examine=accept)
    assert own.names("user:cid") == ["ann/ours", "bob/ours", "oidc:a/b/ours", "theirs"]
    with pytest.raises(InputError, match="3 users share a problem ours") as refused:
        own.find("ours", "user:cid")
    assert refused.value.hint == "name one: ann/ours, bob/ours, oidc:a/b/ours"
    for user, problem in made.items():
        found = own.load(f"{user.removeprefix('user:')}/ours", "user:cid")
        assert found is not None
        assert (found.hash, found.author) == (problem.hash, user.removeprefix("user:"))
    mine = own.create("ours", TOML, f"{REFERENCE}\n# mine\n", "user:cid", examine=accept)
    assert own.find("ours", "user:cid") == Path(mine.folder)
    assert own.find("ann/ours", "user:cid") == Path(made["user:ann"].folder)
    assert own.names("user:cid") == ["ann/ours", "bob/ours", "oidc:a/b/ours", "ours", "theirs"]


def test_what_an_earlier_version_shared_is_found_and_replaced_by_its_author(own: OwnProblems, tmp_path: Path) -> None:
    own.create("ours", TOML, REFERENCE, "user:ann", shared=True, examine=accept)
    folder = tmp_path / "problems"
    (folder / "shared").mkdir()
    (folder / "shared-user%3Aann" / "ours").rename(folder / "shared" / "ours")
    changed = own.create("ours", TOML, f"{REFERENCE}\n# 2\n", "user:ann", shared=True, examine=accept)
    found = own.load("ours", "user:bob")
    assert found is not None
    assert found.hash == changed.hash
    own.create("ours", TOML, REFERENCE, "user:bob", shared=True, examine=accept)
    assert own.names("user:cid") == ["ann/ours", "bob/ours"]


def test_a_name_with_a_hash_is_refused_once_its_author_has_changed_the_problem(own: OwnProblems) -> None:
    made = own.create("ours", TOML, REFERENCE, "user:ann", shared=True, examine=accept)
    pinned = f"ours@{made.hash.removeprefix('sha256:')[:12]}"
    for name in (pinned, f"ann/{pinned}"):
        found = own.load(name, "user:bob")
        assert found is not None
        assert found.hash == made.hash
    own.create("ours", TOML, f"{REFERENCE}\n# changed\n", "user:ann", shared=True, examine=accept)
    with pytest.raises(InputError, match="ours is another problem by now"):
        own.load(pinned, "user:bob")


@pytest.mark.parametrize(
    "name", ["../ours", "/ours", "ann/../ours", "*/ours", "ann/ours/", "user:ann/ours", "ours@xyz"]
)
def test_an_author_is_no_path_and_no_pattern(own: OwnProblems, name: str) -> None:
    own.create("ours", TOML, REFERENCE, "user:ann", shared=True, examine=accept)
    assert own.find(name, "user:bob") is None


@pytest.mark.parametrize("user", ["user:shared", "user:../shared", "user:", "local"])
def test_no_user_writes_into_the_shared_folder_without_sharing(own: OwnProblems, user: str) -> None:
    own.create("mine", TOML, REFERENCE, user, examine=accept)
    assert own.find("mine", "user:bob") is None


def test_shared_problems_count_as_their_users(own: OwnProblems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdkernel_mcp.problems.own_problems.MOST_PROBLEMS", 2)
    own.create("one", TOML, REFERENCE, "user:ann", examine=accept)
    own.create("two", TOML, REFERENCE, "user:ann", shared=True, examine=accept)
    for shared in (False, True):
        with pytest.raises(InputError, match="2 problems already"):
            own.create("three", TOML, REFERENCE, "user:ann", shared=shared, examine=accept)
    own.create("two", TOML, REFERENCE, "user:ann", shared=True, examine=accept)
    own.create("three", TOML, REFERENCE, "user:bob", shared=True, examine=accept)


@pytest.mark.parametrize("name", ["..", "../user%3Aann/mine", "a/b", ".lock", "owner/../x"])
def test_a_shared_name_is_no_path(own: OwnProblems, name: str) -> None:
    with pytest.raises(InputError):
        own.create(name, TOML, REFERENCE, "user:bob", shared=True, examine=accept)
    assert own.find(name, "user:bob") is None


def test_the_longest_name_of_a_user_has_a_folder_and_not_that_of_another(own: OwnProblems) -> None:
    ann, bob = f"user:oidc:{'名' * 250}a", f"user:oidc:{'名' * 250}b"
    own.create("mine", TOML, REFERENCE, ann, examine=accept)
    assert own.names(ann) == ["mine"]
    assert own.names(bob) == []


def test_a_problem_is_whole_while_it_is_replaced(own: OwnProblems) -> None:
    versions = {TOML.replace('title = "', f'title = "{each} '): f"{REFERENCE}# {each}\n" for each in "ab"}
    made = [own.create("mine", *texts, "local", examine=accept) for texts in versions.items()]
    over = threading.Event()

    def replace_it() -> None:
        while not over.is_set():
            for declaration, reference in versions.items():
                own.create("mine", declaration, reference, "local", examine=accept)

    with ThreadPoolExecutor(1) as pool:
        replacing = pool.submit(replace_it)
        found = [own.load("mine", "local") for _ in range(300)]
        over.set()
        replacing.result()
    assert None not in found
    assert {(each.title, each.reference) for each in found if each} <= {(each.title, each.reference) for each in made}

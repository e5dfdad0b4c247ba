"""The secret of a server, and the seeds that come from it."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from problem_text import REFERENCE, write_problem

from amdkernel_mcp.checking.cases.seeds import SeedKey, fresh_key, is_committed, read_key, seed_key, server_secret
from amdkernel_mcp.errors import InputError, SettingsError
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem

SECRET = bytes(range(32))


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load_problem(write_problem(tmp_path / "problem"))


def test_the_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    secret = server_secret(folder)
    (file,) = folder.iterdir()
    assert (len(secret), stat.S_IMODE(file.stat().st_mode)) == (32, 0o600)
    assert server_secret(folder) == secret != server_secret(tmp_path / "other")


def test_servers_that_start_together_have_one_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        secrets = set(pool.map(lambda _: server_secret(tmp_path), range(64)))
    assert len(secrets) == 1
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33, bytes(32)])
def test_a_secret_that_is_none_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(SettingsError, match="not a secret of 32 random bytes"):
        server_secret(tmp_path)
    assert file.read_bytes() == content


def test_a_secret_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    server_secret(tmp_path)
    (tmp_path / "secret").chmod(0o640)
    with pytest.raises(SettingsError, match="other users can read") as caught:
        server_secret(tmp_path)
    assert caught.value.hint == f"chmod 600 {tmp_path}/secret"


def test_a_folder_that_cannot_hold_a_secret_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(SettingsError, match="cannot be kept") as caught:
        server_secret(tmp_path / "data")
    assert caught.value.file == f"{tmp_path}/data/secret"


def key(problem: Problem, **changes: object) -> SeedKey:
    given = {"secret": SECRET, "purpose": "check", "source": "a", "flags": ("-O2",), "arch": "gfx942"} | changes
    return seed_key(given.pop("secret"), given.pop("purpose"), problem, **given)  # type: ignore[arg-type]


def test_the_same_candidate_has_the_same_seeds_again(problem: Problem) -> None:
    assert key(problem).seeds() == key(problem).seeds()
    assert len(set(key(problem).seeds())) == 5
    assert key(problem).seeds(7)[:5] == key(problem).seeds()


@pytest.mark.parametrize(
    "changes",
    [
        {"secret": bytes(31) + b"x"},
        {"purpose": "timing"},
        {"source": "a "},
        {"source": "a-O2", "flags": ()},
        {"flags": ("-O", "2")},
        {"flags": ("-O2", "-O2")},
        {"arch": "gfx950"},
    ],
)
def test_any_change_gives_other_seeds(problem: Problem, changes: dict[str, object]) -> None:
    assert not set(key(problem, **changes).seeds()) & set(key(problem).seeds())


def test_another_reference_gives_other_seeds(problem: Problem, tmp_path: Path) -> None:
    other = load_problem(write_problem(tmp_path / "other", reference=REFERENCE + "\n# changed\n"))
    assert key(other).key != key(problem).key


def test_a_revealed_key_gives_the_seeds_again_and_fits_its_commitment_alone(problem: Problem) -> None:
    revealed = read_key(key(problem).hex)
    assert revealed.seeds() == key(problem).seeds()
    assert revealed.replayed
    assert is_committed(key(problem).commitment, revealed.hex)
    assert not is_committed(key(problem).commitment, fresh_key().hex)
    assert not is_committed(key(problem).commitment, "no key")


def test_a_key_does_not_show_in_a_traceback(problem: Problem) -> None:
    assert key(problem).hex not in repr(key(problem))
    assert str(key(problem).key) not in repr(key(problem))


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "00" * 33])
def test_what_is_no_key_is_a_mistake_of_the_caller(text: str) -> None:
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        read_key(text)

"""The checker of English: what it reports, where, and what it leaves alone."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts/check_english.py"


def check(file: Path, text: str) -> tuple[int, list[str]]:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    ended = subprocess.run([sys.executable, str(SCRIPT), str(file)], capture_output=True, text=True)
    assert ended.stderr == "" or "passages to rewrite" in ended.stderr
    return ended.returncode, [line.removeprefix(f"{file}:") for line in ended.stdout.splitlines()]


@pytest.mark.parametrize(
    ("sentence", "finding"),
    [
        ("A fault is told on stderr.", '"is told" -> "is reported"'),
        ("It tells where it stopped.", '"tells" -> "reports, says or returns"'),
        ("The command that mends it.", '"The command that mends it" -> "the command that fixes it"'),
        ("`close` gives the file free.", '"gives the file free" -> "frees or closes"'),
        ("Threads, of which only 16 run.", '"of which only" -> "but only; all of them"'),
        ("This nobody checks.", '"nobody" -> "no caller, no thread, nothing; or "is not ...""'),
        ("A reload is no race.", '"is no race" -> "is not a ..."'),
        ("The result hangs on the order of waves.", '"result hangs on" -> "depends on"'),
        ("Whose turn it is says queue.c.", '"Whose turn" -> "what runs next; "X decides which Y runs next""'),
        ("The shim answers at once.", '"shim" -> "relay"'),
        ("See `crew.c` for threads.", '"crew.c" -> "a file that exists"'),
        ("See hip/order_of_work.c for streams.", '"hip/order_of_work.c" -> "a file that exists"'),
        ("Nothing that is not declared gets in.", '"Nothing that is not" -> "say what is the case"'),
    ],
)
def test_a_stilted_phrase_or_an_old_name_is_reported_with_what_to_write(
    tmp_path: Path, sentence: str, finding: str
) -> None:
    assert check(tmp_path / "page.md", f"# Title\n\n{sentence}\n") == (1, [f"3: {finding}"])


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no race, and it is no longer slow.",
        "The option `--no-shim` starts the server itself.",
        "`is told` is code.",
        "See <https://example.com/is-told> and [a link](beside.md).",
        "A free slot is given to the next job.",
        "The kernel hangs on gfx942.",
        "See `scripts/check_english.py`, engine.py and <hip/hip_runtime.h>.",
        "LDS is on the chip; waves stand by.",
    ],
)
def test_plain_english_code_and_addresses_are_left_alone(tmp_path: Path, sentence: str) -> None:
    assert check(tmp_path / "page.md", f"{sentence}\n") == (0, [])


def test_a_phrase_over_two_lines_is_found_on_its_first(tmp_path: Path) -> None:
    assert check(tmp_path / "page.md", "One line.\n\nA fault is\ntold later.\n")[1][0].startswith('3: "is told"')


def test_fenced_blocks_of_a_page_are_skipped(tmp_path: Path) -> None:
    assert check(tmp_path / "page.md", "```console\nis told\n```\n") == (0, [])


def test_comments_docstrings_and_messages_of_python_are_read_and_code_is_not(tmp_path: Path) -> None:
    text = '"""Is told."""\n\ntold = beside(kin)  # somebody\nprint(f"a {told} "\n      "nobody knows")\nx = b"awake"\n'
    _, lines = check(tmp_path / "code.py", text)
    assert [line.partition(" ->")[0] for line in lines] == ['1: "Is told"', '3: "somebody"', '5: "nobody"']


def test_comments_and_messages_of_c_are_read_and_code_is_not(tmp_path: Path) -> None:
    text = '/* Lanes\n * that sleep. */\nint told = \'"\'; // nobody\nprintf("%s: "\n       "is told\\n", kin);\n'
    _, lines = check(tmp_path / "code.c", text)
    assert [line.partition(" ->")[0] for line in lines] == ['1: "Lanes that sleep"', '3: "nobody"', '5: "is told"']


def test_comments_and_sentences_of_toml_are_read(tmp_path: Path) -> None:
    _, lines = check(tmp_path / "data.toml", '# nobody\nsaid = "what the GPU tells us here"\nkey = "tells"\n')
    assert [line.partition(" ->")[0] for line in lines] == ['1: "nobody"', '2: "tells"']


def test_a_sentence_of_more_than_40_words_is_reported_where_it_begins(tmp_path: Path) -> None:
    long = "Short one.\n" + "many words\n" * 21 + "end here.\n"
    assert check(tmp_path / "page.md", long)[1] == [
        '2: "many words many words many ..." -> "two sentences: this one has 44 words"'
    ]
    assert check(tmp_path / "page.md", "many words; " * 40) == (0, [])


def test_the_history_of_the_change_log_is_left_as_it_was(tmp_path: Path) -> None:
    text = "## [0.2.0]\n\n* Fine.\n\n## [0.1.0]\n\n* A fault is told.\n"
    assert check(tmp_path / "CHANGELOG.md", text) == (0, [])
    assert check(tmp_path / "CHANGELOG.md", text.replace("Fine", "It is told"))[0] == 1


def test_without_arguments_every_file_of_the_repository_is_read(tmp_path: Path) -> None:
    (tmp_path / "new.md").write_text("This is told.\n")
    (tmp_path / "built.md").write_text("This is told.\n")
    (tmp_path / ".gitignore").write_text("built.md\n")
    for command in (["init", "-q"], ["add", "new.md"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    ended = subprocess.run([sys.executable, str(SCRIPT)], cwd=tmp_path, capture_output=True, text=True)
    assert ended.stdout == 'new.md:1: "is told" -> "is reported"\n'

"""Whose option is it: ours before `--`, the program's after its name, and a mistake before that."""

import pytest
import typer

from amdkernel_mcp.cli.app import app

OURS: dict[str, object] = {
    "target": None,
    "include": [],
    "check": False,
    "timeout": 600.0,
    "kernel": None,
    "json": False,
}


def parsed(*arguments: str) -> tuple[list[str], dict[str, object]]:
    """The words for the program, and those of our options that are not at their defaults."""
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    found = dict(command.make_context("run", list(arguments)).params)
    words = found.pop("words") or []
    given = {name: value for name, value in found.items() if name in OURS and (value or None) != (OURS[name] or None)}
    return words, {name: [str(one) for one in value] if isinstance(value, list) else value
                   for name, value in given.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words", "ours"),
    [
        ("./a.out", ["./a.out"], {}),
        ("./a.out --size 4 -v", ["./a.out", "--size", "4", "-v"], {}),
        ("./a.out --size=4 --target emulator:gfx90a 7", ["./a.out", "--size=4", "7"], {"target": "emulator:gfx90a"}),
        ("--check --timeout=5 ./a.out --check", ["./a.out"], {"check": True, "timeout": 5.0}),
        ("./a.out -- --check -I", ["./a.out", "--", "--check", "-I"], {}),
        ("-- ./a.out --check", ["--", "./a.out", "--check"], {}),
        ("a.hip b.hip -I include -Iother c.hip", ["a.hip", "b.hip", "c.hip"], {"include": ["include", "other"]}),
        ("-I include a.hip 5 -I 6", ["a.hip", "5", "-I", "6"], {"include": ["include"]}),
        ("./a.out -I 6", ["./a.out", "-I", "6"], {}),
        ("./a.out -", ["./a.out", "-"], {}),
        ("--file -odd ./a.out", ["./a.out"], {}),
        ("./a.out --json --kernel 3", ["./a.out", "--json", "--kernel", "3"], {}),
        ("./a.out --profile --json --kernel k", ["./a.out"], {"json": True, "kernel": "k"}),
    ],
)
def test_each_word_goes_where_it_belongs(arguments: str, words: list[str], ours: dict[str, object]) -> None:
    assert parsed(*arguments.split()) == (words, ours)


@pytest.mark.parametrize("arguments", ["--sise 4 ./a.out", "-O3 a.hip", "--sise=4 -- ./a.out", "--check -v"])
def test_an_unknown_option_before_the_program_is_an_error_that_names_it(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from amdkernel_mcp.cli.main import run

    assert run(["run", *arguments.split()]) == 2
    unknown = next(word for word in arguments.split() if word.startswith("-") and word != "--check")
    assert f"no such option: {unknown}" in capsys.readouterr().err

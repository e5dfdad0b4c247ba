"""Which words of `amdkernel run` are its own options, and which are the program's."""

from typing import TYPE_CHECKING

from typer.core import TyperCommand

from amdkernel_mcp.execution.runner.source_names import is_source

if TYPE_CHECKING:
    from typer import Context

SEPARATOR = "--"
_INCLUDE = "-I"
_PROFILE, _WITH_PROFILE = "--profile", ("--kernel", "--json")


class RunCommand(TyperCommand):
    """Our options are known anywhere before `--`. Others belong to the program once it is named; before that they are
    an error. `-I` is ours among the sources, and the program's after it; so are options that only a profile has."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:  # type: ignore[override]
        """Hand typer our options, then the program's words, with a `--` where the user has one."""
        cut = args.index(SEPARATOR) if SEPARATOR in args else len(args)
        options, words = self._divide(ctx, args[:cut])
        return super().parse_args(ctx, [*options, SEPARATOR, *words, *args[cut:]])

    def _divide(self, ctx: "Context", args: list[str]) -> tuple[list[str], list[str]]:
        """(our options with their values, the program's words)."""
        takes_value = {name: not getattr(option, "is_flag", True) for option in self.params for name in option.opts}
        options: list[str] = []
        words: list[str] = []
        rest = list(args)
        while rest:
            word = rest.pop(0)
            name = _INCLUDE if word.startswith(_INCLUDE) else word.partition("=")[0]
            known = name in takes_value or word in ctx.help_option_names
            theirs = (name == _INCLUDE and not all(map(is_source, words))) or (
                name in _WITH_PROFILE and bool(words) and _PROFILE not in args
            )
            if known and not theirs:
                options.append(word)
                if takes_value.get(name) and word == name:
                    options += rest[:1]
                    del rest[:1]
            elif word.startswith("-") and word != "-" and not words:
                ctx.fail(
                    f"no such option: {word}; options of the program go after the program,"
                    f" and compiler flags into --flag={word}"
                )
            else:
                words.append(word)
        return options, words

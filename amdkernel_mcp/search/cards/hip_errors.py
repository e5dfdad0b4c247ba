"""The card of an error code, by name or by number: what it means, what causes it, what to try."""

import tomllib
from dataclasses import dataclass
from functools import cache

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.results.documentation import Card


@dataclass(frozen=True)
class HipError:
    """An entry of docs_index/hip_errors.toml; `same` names the entry that says more."""

    name: str
    code: int
    means: str
    causes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    same: str | None = None

    @property
    def enum(self) -> str:
        """The type of the code."""
        return "hiprtcResult" if self.name.startswith("HIPRTC_") else "hipError_t"


@cache
def hip_errors() -> dict[str, HipError]:
    """Every error code, by its name."""
    table = tomllib.loads((folder("docs_index") / "hip_errors.toml").read_text(encoding="utf-8"))
    return {name: _error(name, row) for name, row in table.items()}


def _error(name: str, row: dict[str, object]) -> HipError:
    causes, remedies = (tuple(map(str, row.get(key, ()))) for key in ("causes", "try"))  # type: ignore[call-overload]
    same = row.get("same")
    return HipError(name, int(str(row["code"])), str(row["means"]), causes, remedies, str(same) if same else None)


@cache
def _by_folded_name() -> dict[str, HipError]:
    return {name.lower(): error for name, error in hip_errors().items()}


def error_cards(word: str, header_says: str = "") -> list[Card]:
    """The cards of an error's name, or of its number: one for each enum. `header_says`: the comment in HIP's header."""
    if word.isascii() and word.isdecimal() and len(word) < 10:
        found = [error for error in hip_errors().values() if error.code == int(word) and not error.same]
    else:
        found = [error for error in (_by_folded_name().get(word.lower()),) if error]
    return [error_card(error, header_says) for error in found]


def error_card(error: HipError, header_says: str = "") -> Card:
    """What is known of an error; of an old name also what its new one says."""
    more = hip_errors()[error.same] if error.same else error
    lines = [f"`{error.name}` = {error.code}, a value of `{error.enum}`: {error.means}."]
    if header_says:
        lines.append(f"HIP's header says: {header_says}")
    if more is not error:
        lines.append(f"{more.name}: {more.means}.")
    if more.causes:
        lines += ["", "Common causes:", *(f"- {cause}" for cause in more.causes)]
    if more.remedies:
        lines += ["", "Try:", *(f"- {remedy}" for remedy in more.remedies)]
    return Card(
        ref=f"error:{error.name}",
        kind="error",
        name=error.name,
        title=f"{error.name} ({error.code}): {error.means}",
        text="\n".join(lines),
        origin="codes: HIP's headers; causes and remedies: docs_index/hip_errors.toml",
    )

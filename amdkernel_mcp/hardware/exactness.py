"""Which instructions the emulator does not compute with the hardware's bits. All others it does, by the ISA guides.

Sources: AMD's ISA guides (CDNA2 to CDNA4, RDNA3, RDNA4), the chapters on vector instructions and on matrix arithmetic:
they name the accuracy of transcendental functions and not their bits, and neither order nor rounding of the sums within
a matrix or dot product. What the emulator does instead: sandbox/emulator/design.md, "Choices".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

Kind = Literal["approximate", "assumed"]
"""`approximate`: right within the hardware's error, with other bits. `assumed`: AMD's guides do not say it all."""


@dataclass(frozen=True)
class Inexact:
    """Why an instruction is not exact."""

    kind: Kind
    why: str


_ENCODING = re.compile(r"_(?:e32|e64|e64_dpp|dpp8|dpp|sdwa|vi|gfx\d+)$")
_RULES: tuple[tuple[str, Kind, str], ...] = (
    (
        r"v_(?:s_)?(?:exp|log|rcp|rsq|sqrt|sin|cos|tanh)_(?:legacy_|clamp_|iflag_)?b?f\d+",
        "approximate",
        "transcendental functions have the host's bits",
    ),
    (
        r"v_(?:mfma|smfmac|wmma|swmmac)_(?:ld_scale_)?(?:scale_)?(?!i32_|ld_)\w+",
        "approximate",
        "order and rounding of the sums in a matrix instruction are not documented",
    ),
    (
        r"v_(?:dual_)?dot\d+(?:c|acc)?_b?f\d+_\w+",
        "assumed",
        "each sum of a dot product rounds once, in order",
    ),
    (r"v_cvt_(?:\w+_)?sr_\w+", "assumed", "where stochastic rounding carries"),
    (
        r"(?:global|flat|buffer|image|scratch)_atomic_(?:pk_)?(?:f?add)_b?f\d+|ds_(?:pk_)?add_(?:rtn_)?b?f\d+",
        "approximate",
        "the order in which atomic sums of floats round is that of this run",
    ),
    (r"s_getreg_b32", "assumed", "where a wave runs is drawn"),
    (r"s_mem(?:real)?time|s_sendmsg_rtn_b\d+", "assumed", "clocks count instructions"),
)


@cache
def inexact(mnemonic: str) -> Inexact | None:
    """Why the emulator's result may have other bits than the hardware's; None where it has the same."""
    name = _ENCODING.sub("", mnemonic)
    return next((Inexact(kind, why) for pattern, kind, why in _RULES if re.fullmatch(pattern, name)), None)


def inexact_among(mnemonics: Iterable[str]) -> list[str]:
    """A sentence for each reason, with the instructions that it is about."""
    reasons: dict[Inexact, list[str]] = {}
    for name in sorted({_ENCODING.sub("", each) for each in mnemonics}):
        if found := inexact(name):
            reasons.setdefault(found, []).append(name)
    return [f"{found.kind}: {found.why} ({', '.join(names)})" for found, names in reasons.items()]

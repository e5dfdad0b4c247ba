"""Limits and peaks of AMD GPUs, found by marketing name or by gfx name. The figures are in gpus.toml."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from amdkernel_mcp.errors import UnknownTargetError


@dataclass(frozen=True)
class Gpu:
    """One device as HIP sees it (MI250X: one GCD). Fields are described at the head of gpus.toml."""

    name: str
    gfx: str
    family: str
    xcds: int
    shader_engines: int
    cus: int
    simds_per_cu: int
    waves_per_simd: int
    wave_size: int
    clock_mhz: float
    memory_gbps: float
    l2_mib: float
    lds_kib_per_cu: int
    source: str
    confidence: str
    flops_per_clock_cu: Mapping[str, float]
    achievable: Mapping[str, float]
    aliases: tuple[str, ...] = ()
    device_ids: tuple[int, ...] = ()
    l2_channels: int | None = None
    mall_mib: float | None = None
    mall_gbps: float | None = None
    notes: str = ""
    has_roofs: bool = True
    """False for a part that no table has: what its CUs are is known, its clock, memory and caches are not."""

    @property
    def simds(self) -> int:
        """SIMDs of the whole device."""
        return self.cus * self.simds_per_cu

    @property
    def wave_slots(self) -> int:
        """Waves that can be resident on the whole device at once."""
        return self.simds * self.waves_per_simd

    def achieved(self, resource: str) -> float:
        """Share of a resource's peak that benchmarks reach; 1 where no benchmark is known."""
        return self.achievable.get(resource, 1.0)

    @property
    def last_level_cache_bytes(self) -> int:
        """Bytes that can stay on the device's side of the memory: L2 and, where there is one, Infinity Cache."""
        return int((self.l2_mib + (self.mall_mib or 0)) * 2**20)

    def peak_flops(self, unit: str) -> float | None:
        """Peak rate in flop/s of `vector_f32`, `matrix_f16` and the like; None where the part has no such unit."""
        per_clock = self.flops_per_clock_cu.get(unit)
        return None if per_clock is None else per_clock * self.cus * self.clock_mhz * 1e6


# Of parts without a benchmark: what an MI300X reaches.
_ACHIEVABLE = {"memory": 0.79, "infinity_cache": 0.37, "l2_cache": 0.75, "l1_cache": 0.82}


@cache
def all_gpus() -> tuple[Gpu, ...]:
    """Every GPU of gpus.toml, in its order."""
    text = files("amdkernel_mcp.hardware").joinpath("gpus.toml").read_text(encoding="utf-8")
    return tuple(Gpu(**_fields(entry)) for entry in tomllib.loads(text)["gpu"])


def _fields(entry: dict[str, Any]) -> dict[str, Any]:
    achievable = _ACHIEVABLE | entry.get("achievable", {})
    return entry | {
        "achievable": achievable,
        "aliases": tuple(entry.get("aliases", ())),
        "device_ids": tuple(entry.get("device_ids", ())),
        "source": " ".join(entry["source"].split()),
    }


# Where a gfx name alone is known: the part that is meant most often.
_DEFAULT = {"gfx90a": "MI250X (per GCD)", "gfx942": "MI300X", "gfx950": "MI355X"}


def product_name(gfx: str, *, device_id: int | None, cus: int | None) -> str:
    """What a GPU that its driver describes is called: `MI325X`, by its PCI device id and CUs.

    A partition is `MI300X, 38 of 304 CUs`, a part that gpus.toml lacks `gfx942 with 120 CUs`; of an arch without a
    row, the arch. `gpu_by_name` finds each of them but the last.
    """
    parts = [gpu for gpu in all_gpus() if gpu.gfx == gfx]
    mine = [gpu for gpu in parts if device_id in gpu.device_ids]
    exact = [gpu for gpu in mine if gpu.cus == cus]
    if exact:
        return exact[0].name.removesuffix(" (per GCD)")
    if not parts:
        return gfx
    if not cus:
        return f"{gfx}{UNKNOWN_PART}"
    if len(mine) == 1 and cus < mine[0].cus and mine[0].xcds > 1:
        return f"{mine[0].name}, {cus} of {mine[0].cus} CUs"
    return f"{gfx} with {cus} CUs"


UNKNOWN_PART = " (part not known)"
"""After an arch, of whose parts it is not known which one this is."""
_BY_NUMBERS = re.compile(
    rf"(?P<of>gfx\w+)(?: with (?P<cus>\d+) CUs|{re.escape(UNKNOWN_PART)})|(?P<part>.+), (?P<some>\d+) of \d+ CUs"
)


def _without_roofs(name: str) -> Gpu | None:
    """The part of such a name; None for another. Its caches count as the largest of its arch."""
    found = _BY_NUMBERS.fullmatch(name)
    part = found and lookup(found["of"] or found["part"])
    if not found or not part:
        return None
    same = [gpu for gpu in all_gpus() if gpu.gfx == part.gfx]
    return replace(
        part,
        name=name,
        cus=int(found["cus"] or found["some"] or 0),
        aliases=(),
        device_ids=(),
        memory_gbps=math.inf,
        l2_mib=max(gpu.l2_mib for gpu in same),
        mall_mib=max(gpu.mall_mib or 0 for gpu in same),
        mall_gbps=None,
        l2_channels=None,
        confidence="none",
        has_roofs=False,
    )


def gpu_by_name(name: str) -> Gpu:
    """The GPU called `name`: `MI300X`, `AMD Instinct MI300X`, `gfx942`, or what `product_name` calls it.

    Raises UnknownTargetError for another.
    """
    found = lookup(name) or _without_roofs(name)
    if found is None:
        known = ", ".join(gpu.name for gpu in all_gpus())
        raise UnknownTargetError(f"no figures are known for a GPU called {name!r}", hint=f"known are: {known}")
    return found


def lookup(name: str | None, *, cus: int | None = None) -> Gpu | None:
    """The GPU called `name`, or None. With `cus` the part must have that many CUs, whatever it is called.

    An MI300X that calls itself `gfx942` or `MI300X_A1` is found; of several parts of one gfx name the usual one is.
    """
    if not name:
        return None
    key = _key(name)
    named = [gpu for gpu in all_gpus() if key in {_key(gpu.name), *map(_key, gpu.aliases)}]
    if not named:
        named = [gpu for gpu in all_gpus() if gpu.gfx == name.split(":")[0].lower()]
        named.sort(key=lambda gpu: gpu.name != _DEFAULT.get(gpu.gfx))  # stable: else the order of the file
    if cus is not None:
        named = [gpu for gpu in named if gpu.cus == cus]
    return named[0] if named else None


def _key(name: str) -> str:
    """`AMD Instinct(TM) MI300X` and `mi300x` alike; an OEM suffix such as `VF` stays."""
    return re.sub(r"\b(amd|instinct|radeon|graphics|tm|per gcd)\b|[^a-z0-9]", "", name.lower())

"""For which GPU a code object is, read from its ELF header as AMD's runtime does.

Sources: LLVM AMDGPUUsage, "ELF Header" and "Target ID"; what is refused: AmdHsaCode::GetIsa() of AMD's ROCR-Runtime.
The emulator's `sandbox/emulator/hip/code/target.c` has the same rules, and a test compares the names.
"""

from dataclasses import dataclass

from amdkernel_mcp.compiler.elf_file import ElfFile

OLDEST, NEWEST = 3, 6
_OS_HSA = 64
_MACHINES = {
    0x20: "gfx600", 0x21: "gfx601", 0x3A: "gfx602", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703",
    0x26: "gfx704", 0x3B: "gfx705", 0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x3C: "gfx805", 0x2B: "gfx810",
    0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904", 0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c",
    0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012",
    0x42: "gfx1013", 0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3E: "gfx1034",
    0x3D: "gfx1035", 0x45: "gfx1036", 0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103",
    0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152", 0x58: "gfx1153", 0x57: "gfx1154", 0x5D: "gfx1170",
    0x5E: "gfx1171", 0x5C: "gfx1172", 0x48: "gfx1200", 0x4E: "gfx1201", 0x49: "gfx1250", 0x5A: "gfx1251",
    0x50: "gfx1310", 0x51: "gfx9-generic", 0x5F: "gfx9-4-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic",
    0x54: "gfx11-generic", 0x62: "gfx11-7-generic", 0x59: "gfx12-generic", 0x5B: "gfx12-5-generic",
    0x63: "gfx13-generic",
}  # fmt: skip
# Version 3 cannot say "any": what is not on is off, on those GPUs that have both features.
_HAVE_BOTH = frozenset({"gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"})
_FLAGS_OF_3 = {"sramecc": 0x200, "xnack": 0x100}
_SHIFTS = {"sramecc": 10, "xnack": 8}  # from version 4 on: two bits
_SETTINGS = {2: "-", 3: "+"}  # 0: there is no such feature; 1: any


@dataclass(frozen=True)
class ObjectTarget:
    """`name` is the target id: `gfx942:sramecc+:xnack-`, or the arch alone where any setting will do."""

    arch: str | None
    name: str | None
    version: int | None
    refused: str | None  # why AMD's runtime does not load it

    @property
    def family(self) -> int | None:
        """9 of gfx90a, 12 of gfx1201 and of gfx12-generic."""
        digits = (self.arch or "").removeprefix("gfx").partition("-")[0]
        if not digits:
            return None
        return int(digits) if "-" in (self.arch or "") else int(digits[:-2])

    @property
    def has_agprs(self) -> bool:
        """Whether there are accumulation registers; also where the arch is not known."""
        return self.arch in (None, "gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-generic")


def read_target(elf: ElfFile) -> ObjectTarget:
    """What the header says. A part that it does not say is None."""
    if elf.os_abi != _OS_HSA:
        return ObjectTarget(None, None, None, f"the code object is not for AMD's HSA runtime: OS ABI {elf.os_abi}")
    version = elf.abi_version + 2
    arch = _MACHINES.get(elf.flags & 0xFF)
    if not OLDEST <= version <= NEWEST:
        why = f"the code object has version {version}, and only {OLDEST} to {NEWEST} are loaded"
        return ObjectTarget(arch, arch, version, why)
    if arch is None:
        why = f"the ELF header names no known architecture: its machine is {elf.flags & 0xFF:#x}"
        return ObjectTarget(None, None, version, why)
    return ObjectTarget(arch, arch + "".join(_settings(elf.flags, arch, version)), version, None)


def _settings(flags: int, arch: str, version: int) -> list[str]:
    if version == OLDEST:
        said = {name: bool(flags & bit) for name, bit in _FLAGS_OF_3.items() if arch in _HAVE_BOTH or flags & bit}
        return [f":{name}{'+' if on else '-'}" for name, on in said.items()]
    found = {name: _SETTINGS.get(flags >> shift & 3) for name, shift in _SHIFTS.items()}
    return [f":{name}{setting}" for name, setting in found.items() if setting]

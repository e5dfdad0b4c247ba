"""Runs single lines of assembly in a wave with given registers, and returns the registers that it leaves.

A case is a kernel of its own around the line: it loads registers, runs the line and stores registers. So the same cases
run on a GPU: where TESTED_ON_TARGET names a target such as `gpu1:0`, those of its architecture do, and a difference
fails the test of the line. There a fault has no details, and nothing is counted. All cases of a module share one
assembly and one container.
"""

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amdkernel_mcp.execution.sandbox import Sandbox

Words = NDArray[np.uint32]

LANES = 64
V_IN, V_OUT = 32, 64  # v0..v31 are set, v0..v63 come back
SCALARS = 22  # s4..s19, vcc, exec, scc, m0
MEMORY_BYTES = 8192  # at s[20:21]
ALL, SOME = (1 << 64) - 1, 0x0F0F_3355_8001_FFF1

HERE = Path(__file__).parent
TARGET = "gfx942"
TESTED_ON = "TESTED_ON_TARGET"
STORED_SCALARS = [*range(4, 20), 44, 45, 46, 47, 48, 49]

# Lanes are in the order of threads. The masks of lanes are set last and read first, as a line may turn lanes off.
KERNEL = """
.globl line_{n}
.p2align 8
.type line_{n},@function
line_{n}:
  {s_load_4} s[40:43], s[0:1], 0x0
  {s_load_2} s[20:21], s[0:1], 0x10
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v255, 2, v0
  v_readfirstlane_b32 s50, v0
  {wait}
  {s_load_16} s[4:19], s[40:41], {scalars}
  {s_load_4} s[44:47], s[40:41], {scalars}+64
  {s_load_2} s[48:49], s[40:41], {scalars}+80
{loads}
  {wait}
{masks}
{line}
  {wait}
  s_cselect_b32 s48, 1, 0
{masks_back}
{stores}
  s_endpgm
.size line_{n}, .-line_{n}
.section .rodata,"a"
.p2align 6
.amdhsa_kernel line_{n}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_sgpr 96
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_private_segment_fixed_size 64
{directives}
.end_amdhsa_kernel
.text
"""

MASKS_OF_64 = """  s_mov_b64 vcc, s[44:45]
  s_mov_b32 m0, s49
  s_cmp_lg_u32 s48, 0
  s_mov_b64 exec, s[46:47]"""
MASKS_OF_64_BACK = """  s_mov_b64 s[46:47], exec
  s_mov_b64 s[44:45], vcc
  s_mov_b32 s49, m0
  s_mov_b64 exec, -1"""
MASKS_OF_32 = """  s_cmp_lg_u32 s50, 0
  s_cselect_b32 vcc_lo, s45, s44
  s_cselect_b32 s51, s47, s46
  s_mov_b32 m0, s49
  s_cmp_lg_u32 s48, 0
  s_mov_b32 exec_lo, s51"""
MASKS_OF_32_BACK = """  s_mov_b32 s46, exec_lo
  s_mov_b32 s44, vcc_lo
  s_mov_b32 s49, m0
  s_mov_b32 exec_lo, -1"""


METADATA = """  - .name: line_{n}
    .symbol: line_{n}.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 64
    .wavefront_size: {lanes}
    .sgpr_count: 96
    .vgpr_count: {registers}
    .max_flat_workgroup_size: 64
    .args:
    - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
    - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
    - {{.offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global}}
"""


@dataclass(frozen=True)
class Frame:
    """The code around a line. A target is an architecture, or one of RDNA and its wave size: `gfx1100/64`.

    In waves of 32 lanes two waves stand for one of 64: the first has lanes 0 to 31 of a state, the second the others, each
    with its half of EXEC and VCC. So a line that keeps lanes apart leaves the state that NumPy computes for 64 lanes, and
    the other scalars are those of the first wave.
    """

    arch: str
    lanes: int

    @classmethod
    def of(cls, target: str) -> "Frame":
        arch, _, lanes = target.partition("/")
        return cls(arch, int(lanes or (32 if is_rdna(arch) else 64)))

    def kernel(self, number: int, line: str) -> str:
        rdna, wide = is_rdna(self.arch), self.lanes == 64
        words = (
            {4: "s_load_b128", 2: "s_load_b64", 16: "s_load_b512"}
            if rdna
            else {n: f"s_load_dwordx{n}" for n in (4, 2, 16)}
        )
        return KERNEL.format(
            n=number, line=line, loads="\n".join(self._rows("load", 0, V_IN, "40")), stores=self._stores(), scalars=V_IN * 256,
            wait="s_wait_idle" if rdna else "s_waitcnt vmcnt(0) lgkmcnt(0)", directives=self._directives(),
            s_load_4=words[4], s_load_2=words[2], s_load_16=words[16], masks=MASKS_OF_64 if wide else MASKS_OF_32,
            masks_back=MASKS_OF_64_BACK if wide else MASKS_OF_32_BACK,
        )  # fmt: skip

    def metadata(self, number: int) -> str:
        return METADATA.format(n=number, lanes=self.lanes, registers=256 if is_rdna(self.arch) else 512)

    def _directives(self) -> str:
        if is_rdna(self.arch):
            return f"  .amdhsa_wavefront_size32 {int(self.lanes == 32)}\n  .amdhsa_next_free_vgpr 256"
        return "  .amdhsa_next_free_vgpr 512\n  .amdhsa_accum_offset 256"

    def _rows(self, verb: str, first: int, count: int, base: str) -> list[str]:
        """One line a register; the base moves on every eight, as RDNA3's offset ends at 4095."""
        verb = f"global_{verb}_{'b32' if is_rdna(self.arch) else 'dword'}"
        lines = []
        for row in range(count):
            if row and row % 8 == 0:
                lines += [f"  s_add_u32 s{base}, s{base}, 2048", f"  s_addc_u32 s{int(base) + 1}, s{int(base) + 1}, 0"]
            where, register = f"s[{base}:{int(base) + 1}] offset:{row % 8 * 256}", f"v{first + row}"
            lines.append(
                f"  {verb} {register}, v255, {where}" if "load" in verb else f"  {verb} v255, {register}, {where}"
            )
        return lines

    def _stores(self) -> str:
        out = self._rows("store", 0, V_OUT, "42")
        for row, scalar in enumerate(STORED_SCALARS):
            if row % 8 == 0:
                out += ["  s_add_u32 s42, s42, 2048", "  s_addc_u32 s43, s43, 0"]
            out += [f"  v_mov_b32 v254, s{scalar}", *self._rows("store", 254, 1, "42")]
            out[-1] = out[-1].replace("offset:0", f"offset:{row % 8 * 256}")
        return "\n".join(out)


def is_rdna(target: str) -> bool:
    return not target.startswith("gfx9")


def assembly(lines: Sequence[str], target: str = TARGET) -> str:
    """A source with a kernel line_0, line_1 … for each line."""
    frame = Frame.of(target)
    kernels = "".join(frame.kernel(n, line) for n, line in enumerate(lines))
    names = "".join(frame.metadata(n) for n in range(len(lines)))
    return (
        f'.amdgcn_target "amdgcn-amd-amdhsa--{frame.arch}"\n.amdhsa_code_object_version 5\n.text\n{kernels}'
        f".amdgpu_metadata\namdhsa.target: amdgcn-amd-amdhsa--{frame.arch}\namdhsa.version: [1, 2]\namdhsa.kernels:\n{names}.end_amdgpu_metadata\n"
    )


@dataclass(repr=False)
class State:
    """The registers of a wave, and the memory at s[20:21]."""

    v: Words
    s: Words = field(default_factory=lambda: np.arange(16, dtype=np.uint32))
    vcc: int = 0
    exec: int = ALL
    scc: int = 0
    m0: int = 0
    memory: bytes = bytes(MEMORY_BYTES)
    fault: str = ""
    counters: dict[str, int] = field(default_factory=dict)

    def u32(self, register: int) -> Words:
        return self.v[register].copy()

    def i32(self, register: int) -> NDArray[np.int32]:
        return self.u32(register).view(np.int32)

    def f32(self, register: int) -> NDArray[np.float32]:
        return self.u32(register).view(np.float32)

    def u64(self, register: int) -> NDArray[np.uint64]:
        return self.v[register].astype(np.uint64) | self.v[register + 1].astype(np.uint64) << np.uint64(32)

    def i64(self, register: int) -> NDArray[np.int64]:
        return self.u64(register).view(np.int64)

    def f64(self, register: int) -> NDArray[np.float64]:
        return self.u64(register).view(np.float64)

    def f32_pair(self, register: int) -> NDArray[np.uint64]:
        """The bits of two floats, any NaN as the same NaN."""
        both = self.v[register : register + 2].copy()
        both[np.isnan(both.view(np.float32))] = 0x7FC00000
        return both[0].astype(np.uint64) | both[1].astype(np.uint64) << np.uint64(32)

    def halves(self, register: int) -> NDArray[np.uint16]:
        """Shape (64, 2): low half, high half."""
        return self.u32(register).view(np.uint16).reshape(LANES, 2)

    def f16(self, register: int, half: int = 0) -> NDArray[np.float16]:
        return self.halves(register)[:, half].copy().view(np.float16)

    def u16(self, register: int, half: int = 0) -> NDArray[np.uint16]:
        return self.halves(register)[:, half].copy()

    def i16(self, register: int, half: int = 0) -> NDArray[np.int16]:
        return self.u16(register, half).view(np.int16)

    def u64_of(self, register: int) -> NDArray[np.uint64]:
        """A 32-bit register, wide enough for a carry."""
        return self.v[register].astype(np.uint64)

    def carry(self) -> NDArray[np.uint64]:
        """VCC, lane by lane."""
        return np.array([self.vcc >> lane & 1 for lane in range(LANES)], dtype=np.uint64)

    def active(self) -> NDArray[np.bool_]:
        return np.array([self.exec >> lane & 1 for lane in range(LANES)], dtype=bool)

    def pack(self) -> bytes:
        scalars = np.zeros(LANES, dtype=np.uint32)
        scalars[:16] = self.s
        scalars[16:SCALARS] = [
            self.vcc & 0xFFFFFFFF, self.vcc >> 32, self.exec & 0xFFFFFFFF, self.exec >> 32, self.scc, self.m0
        ]  # fmt: skip
        return self.v[:V_IN].tobytes() + scalars.tobytes() + self.memory


def unpack(raw: bytes, target: str = TARGET) -> State:
    rows = np.frombuffer(raw[: (V_OUT + SCALARS) * 256], dtype=np.uint32).reshape(-1, LANES)
    scalars = [int(x) for x in rows[V_OUT:, 0]]
    if Frame.of(target).lanes == 32:  # the second wave's half of each mask
        scalars[17], scalars[19] = int(rows[V_OUT + 16, LANES // 2]), int(rows[V_OUT + 18, LANES // 2])
    memory = raw[(V_OUT + SCALARS) * 256 :][:MEMORY_BYTES]
    return State(
        v=rows[:V_OUT].copy(),
        s=np.array(scalars[:16], dtype=np.uint32),
        vcc=scalars[16] | scalars[17] << 32,
        exec=scalars[18] | scalars[19] << 32,
        scc=scalars[20],
        m0=scalars[21],
        memory=memory,
    )


def run_waves(
    sandbox: Sandbox,
    cases: Sequence[tuple[str, State]],
    target: str = TARGET,
    *,
    modelled: bool = False,
    refuse_code: bool = False,
) -> list[State]:
    """The state that each line leaves. A line that faults gives a state with `fault` set and zeros elsewhere.

    modelled: with the memory model on, whose accesses take another way.
    refuse_code: in a process that may not run pages which it wrote.
    """
    lines = list(dict.fromkeys(line for line, _ in cases))
    numbers = b"".join(struct.pack("<I", lines.index(line)) for line, _ in cases)
    files = {
        "lines.s": assembly(lines, target).encode(),
        "numbers": numbers,
        "states": b"".join(state.pack() for _, state in cases),
        "run_lines.py": (HERE / "run_lines.py").read_bytes(),
    }
    gpu = gpu_of(Frame.of(target).arch)
    if gpu is not None:
        return on_gpu(gpu, cases, files, target)
    done = sandbox.run(
        "run",
        [
            "sh",
            "-c",
            BUILD_AND_RUN.format(
                target=Frame.of(target).arch,
                memory=int(modelled),
                refuse="refuse_code" * refuse_code,
                features=f"-mattr=+real-true16,+wavefrontsize{Frame.of(target).lanes}" * is_rdna(target),
            ),
        ],
        files,
        timeout_s=500,
    )
    assert done.exit_code == 0, done.stderr
    size = (V_OUT + SCALARS) * 256 + MEMORY_BYTES
    compiled: list[Any]
    interpreted: list[Any]
    compiled, interpreted = (
        [
            (done.files[f"{way}.results"][n * size :][:size], *told)
            for n, told in enumerate(
                zip(*(done.files[f"{way}.{what}"].splitlines() for what in ("faults", "counters")), strict=True)
            )
        ]
        for way in ("compiled", "interpreted")
    )
    differing = [line for (line, _), one, other in zip(cases, compiled, interpreted, strict=True) if one != other]
    assert not differing, f"compiled runs and the interpreter differ: {differing[:5]}"
    return [state_of(*left, target=target) for left in compiled]


@cache
def gpu_of(arch: str) -> Sandbox | None:
    """The containers of the GPU on which the cases of this architecture run; None: on the emulator."""
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.execution.targets import find_target
    from amdkernel_mcp.leases.leased_sandbox import LeasedSandboxes

    name = os.environ.get(TESTED_ON)
    if name is None:
        return None
    settings = load_settings()
    where = find_target(name, settings)
    return LeasedSandboxes(settings).of(where) if where.arch == arch else None


def on_gpu(gpu: Sandbox, cases: Sequence[tuple[str, State]], files: dict[str, bytes], target: str) -> list[State]:
    """The states that a GPU leaves."""
    arch, lanes = Frame.of(target).arch, Frame.of(target).lanes
    features = f"-mattr=+real-true16,+wavefrontsize{lanes}" * is_rdna(target)
    done = gpu.run("run", ["sh", "-c", RUN_ON_GPU.format(target=arch, features=features)], files, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    size = (V_OUT + SCALARS) * 256 + MEMORY_BYTES
    told = zip(done.files["faults"].splitlines(), done.files["counters"].splitlines(), strict=True)
    results = done.files["results"]
    assert len(results) == size * len(cases)
    return [state_of(results[n * size :][:size], *each, target=target) for n, each in enumerate(told)]


def state_of(left: bytes, fault: bytes, counters: bytes, target: str) -> State:
    state = unpack(left, target)
    state.fault, state.counters = fault.decode(), json.loads(counters)
    return state


ASSEMBLE = """
set -e
bin=$(ls -d /usr/lib/llvm-*/bin /opt/rocm/llvm/bin 2>/dev/null | sort -V | tail -1)
export TMPDIR=$OUT
$bin/llvm-mc -triple=amdgcn-amd-amdhsa -mcpu={target} {features} -filetype=obj lines.s -o $OUT/lines.o
$bin/ld.lld -shared $OUT/lines.o -o $OUT/lines.co
"""
BUILD_AND_RUN = (
    ASSEMBLE
    + """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_REPORT=$OUT/report
export AMDKERNEL_EMULATOR_OPTIONS=step_limit=100000,threads=1,arena_mb=64,memory={memory},arch={target}
for way in compiled interpreted; do
    python3 run_lines.py $OUT {refuse}
    for file in results faults counters; do mv $OUT/$file $OUT/$way.$file; done
    rm $OUT/report
    AMDKERNEL_EMULATOR_OPTIONS=$AMDKERNEL_EMULATOR_OPTIONS,interpreted=1
done
rm $OUT/lines.o $OUT/lines.co
"""
)
RUN_ON_GPU = (
    ASSEMBLE
    + """
for attempt in $(seq 100); do # a fault ends the process, which continues after it
    python3 run_lines.py $OUT && break
    [ -e $OUT/begun ] || exit 1
done
rm -f $OUT/lines.o $OUT/lines.co
[ ! -e $OUT/begun ]
"""
)

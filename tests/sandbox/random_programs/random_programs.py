"""Random HIP kernels with the same computation for the host: one source, which says itself where the two differ.

A program is a list of steps. Most are functions of one thread's numbers, compiled for both sides; between them lanes
exchange numbers, which the host does for a whole workgroup at once. What the operations are is said in operations.h,
instructions.h and exchanges.h. A program is its seed's alone: the same seed gives the same text.
"""

import random
from collections.abc import Sequence

WHOLE = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
PAIRS = ("u16x2", "i16x2", "f16x2", "f32x2", "u8x4")
TYPES = (*WHOLE, *FLOATS, *PAIRS)
VARIABLES = 2  # of each type

BOTH = [
    "add/2",
    "sub/2",
    "mul/2",
    "neg/1",
    "lesser/2",
    "greater/2",
    "middle/3",
    "quotient/2",
    "multiply_add/3",
    "magnitude/1",
]
OF_WHOLE = [
    *BOTH, "remainder_of/2", "bit_and/2", "bit_or/2", "bit_xor/2", "bit_not/1", "choose_bits/3", "shift_left/2",
    "shift_right/2", "rotate_left/2", "population/1", "leading_zeros/1", "trailing_zeros/1", "reversed/1",
    "bytes_swapped/1", "add_saturating/2", "sub_saturating/2", "distance/2", "high_product/2", "field/3", "carried/3",
    "same_signs/1",
]  # fmt: skip
OF_FLOATS = [
    *BOTH, "rounded_down/1", "truncated/1", "rounded_up/1", "rounded_even/1", "root/1", "fused/3", "with_sign/2",
    "number_min/2", "number_max/2", "modulo/2", "mantissa/1", "fraction/1",
]  # fmt: skip
OF_PAIRS = {
    "u16x2": [
        "add", "sub", "mul", "min", "max", "and", "left", "right", "add_saturating", "sub_saturating", "multiply_add",
    ],
    "i16x2": ["min", "max", "and", "right", "add_saturating", "sub_saturating"],
    "u8x4": ["add", "sub", "min", "max", "and", "left", "right", "multiply_add"],
    "f16x2": ["add", "sub", "mul", "fused"],
    "f32x2": ["add", "sub", "mul", "fused"],
}  # fmt: skip
ELEMENT = {"u16x2": "u16", "i16x2": "i16", "f16x2": "f16", "f32x2": "f32", "u8x4": "u8"}
SAME_SIZE = [
    ("i32", "f32"),
    ("u64", "f64"),
    ("u16", "f16"),
    ("f32", "u32"),
    ("f64", "i64"),
    ("f16", "u16"),
    ("u32", "i32"),
]
OF_THE_GPU = [
    ("u32", "permuted_bytes", ("u32", "u32", "u32")), ("u32", "aligned_bits", ("u32", "u32", "u32")),
    ("u32", "aligned_bytes", ("u32", "u32", "u32")), ("u32", "byte_distances", ("u32", "u32", "u32")),
    ("u32", "short_distances", ("u32", "u32", "u32")), ("u32", "bit_field", ("u32", "u32", "u32")),
    ("i32", "signed_bit_field", ("i32", "u32", "u32")), ("i32", "product_24", ("i32", "i32")),
    ("u32", "averaged_bytes", ("u32", "u32", "u32")), ("i32", "exponent", ("f64",)),
    ("i32", "exponent_single", ("f32",)),
    ("f32", "scaled", ("f32", "i32")), ("f64", "scaled", ("f64", "i32")), ("f32", "half_bits_single", ("u16",)),
    ("u32", "masked_distances", ("u32", "u32", "u32")), ("u32", "upper_byte_distances", ("u32", "u32", "u32")),
    ("u64", "window_distances", ("u64", "u32", "u64")), ("u32", "product_of_bytes", ("u32", "u32", "u32")),
    ("u32", "product_of_nibbles", ("u32", "u32", "u32")), ("u32", "narrowed_pair", ("u32", "u32")),
    ("u32", "signed_narrowed_pair", ("i32", "i32")), ("f32", "median", ("f32", "f32", "f32")),
    ("u32", "is_of_class", ("f32", "u32")), ("f64", "fraction_below_one", ("f64",)),
    ("u64", "wide_multiply_add", ("u32", "u32", "u64")), ("i64", "signed_wide_multiply_add", ("i32", "i32", "i64")),
    ("f32", "mixed_fused", ("f16", "f16", "f32")), ("f32", "mixed_fused_once", ("f16", "f32", "f32")),
]  # fmt: skip
EXCHANGES = [
    ("xor", "any"), ("turned", "any"), ("up", "any"), ("down", "any"), ("of_eight", "any"), ("shared", "any"),
    ("sum", "any"), ("scan", "any"), ("first", "u32"), ("read", "u32"), ("pushed", "u32"), ("quad", "u32"),
    ("row_left", "u32"), ("row_left_zero", "u32"), ("row_right", "u32"), ("row_turned", "u32"), ("row_mirrored", "u32"),
    ("half_mirrored", "u32"), ("swizzled", "u32"), ("quads", "u32"), ("ballot", "votes"), ("rank", "votes"),
    ("some", "votes"), ("counted", "u32"), ("counted", "i32"), ("counted", "u64"), ("stirred", "u32"),
]  # fmt: skip
MOVED = ("i32", "u32", "i64", "u64", "f32", "f64")
SPECIAL = {
    "f16": ["0", "1", "-2", "0.5f", "65504", "6e-8f", "INFINITY", "NAN"],
    "f32": [
        "0",
        "-0.0f",
        "1",
        "-1",
        "0.5f",
        "3.4028235e38f",
        "1e-45f",
        "1.1754944e-38f",
        "INFINITY",
        "-INFINITY",
        "NAN",
    ],
    "f64": ["0", "-0.0", "1", "-1", "0.5", "1.7976931348623157e308", "5e-324", "2147483648.0", "INFINITY", "NAN"],
}
SPECIAL["bf16"] = SPECIAL["f32"]


class Program:
    """One kernel, its host twin, and the functions that they share."""

    def __init__(self, seed: int, without: Sequence[str] = ()) -> None:
        self.seed = seed
        self.whole = [kind for kind in WHOLE if kind not in without]
        self.floats = [kind for kind in FLOATS if kind not in without]
        self.types = [kind for kind in TYPES if kind not in without]
        self.random = random.Random(seed)
        self.counter = 0
        self.functions: list[str] = []
        self.device: list[str] = []
        self.host: list[str] = []
        for number in range(self.random.randint(4, 9)):
            if number % 2 and self.random.random() < 0.8:
                self.exchange()
            else:
                self.step()

    def text(self) -> str:
        """The functions, the kernel k_SEED and the host's twin host_SEED."""
        return "\n".join(
            [
                *self.functions,
                f"__global__ void __launch_bounds__(BLOCK) k_{self.seed}(const State *in, State *out)\n{{",
                "    State s = in[threadIdx.x];",
                *self.device,
                "    out[threadIdx.x] = s;\n}",
                f"static void host_{self.seed}(std::vector<State> &all, int W)\n{{",
                "    (void)W;",
                *self.host,
                "}\n",
            ]
        )

    # ---- expressions ----

    def pick(self, options: Sequence[str]) -> str:
        return self.random.choice(options)

    def variable(self, kind: str) -> str:
        return f"s.{kind}_{self.random.randrange(VARIABLES)}"

    def constant(self, kind: str) -> str:
        if kind in PAIRS:
            return f"({kind})({self.constant(ELEMENT[kind])})"
        if kind in SPECIAL:
            value = self.pick(SPECIAL[kind]) if self.random.random() < 0.5 else f"{self.random.uniform(-100, 100):.6f}"
            return f"({kind}){value}"
        bits = int(kind[1:])
        whole = self.random.choice(
            [0, 1, 2, 3, (1 << bits) - 1, 1 << (bits - 1), self.random.getrandbits(bits), 7, 31, 64]
        )
        return f"({kind}){whole & ((1 << bits) - 1)}ull"

    def expression(self, kind: str, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.1:
            return self.variable(kind) if self.random.random() < 0.75 else self.constant(kind)
        if kind in PAIRS:
            return self.of_pairs(kind, depth)
        chance = self.random.random()
        if chance < 0.14:
            source = self.pick([other for other in (*self.whole, *self.floats) if other != kind])
            return f"converted<{kind}>({self.expression(source, depth - 1)})"
        if chance < 0.24:
            either, other = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
            return f"({self.condition(depth - 1)} ? {either} : {other})"
        if chance < 0.32 and any(to == kind for to, _ in SAME_SIZE):
            source = self.pick([origin for to, origin in SAME_SIZE if to == kind])
            return f"same_bits<{kind}>({self.expression(source, depth - 1)})"
        if chance < 0.44 and any(result == kind for result, _, _ in OF_THE_GPU):
            _, name, kinds = self.random.choice([one for one in OF_THE_GPU if one[0] == kind])
            return f"{name}({', '.join(self.expression(each, depth - 1) for each in kinds)})"
        if chance < 0.47 and kind in ELEMENT.values():
            pair = self.pick([pairs for pairs, element in ELEMENT.items() if element == kind])
            return f"upper_of({self.expression(pair, depth - 1)})"
        name, count = self.pick(OF_WHOLE if kind in WHOLE else OF_FLOATS).split("/")
        return f"{name}<{kind}>({', '.join(self.expression(kind, depth - 1) for _ in range(int(count)))})"

    def of_pairs(self, kind: str, depth: int) -> str:
        chance = self.random.random()
        if chance < 0.12:
            return f"pairs_swapped<{kind}>({self.expression(kind, depth - 1)})"
        if chance < 0.24:
            return f"pairs_crossed<{kind}>({self.expression(kind, depth - 1)}, {self.expression(kind, depth - 1)})"
        if chance < 0.4:
            build = "fours_of" if kind == "u8x4" else "pairs_of"
            element = ELEMENT[kind]
            return f"{build}<{kind}>({self.expression(element, depth - 1)}, {self.expression(element, depth - 1)})"
        name = self.pick(OF_PAIRS[kind])
        operands = [self.expression(kind, depth - 1) for _ in range(3 if name in ("fused", "multiply_add") else 2)]
        return f"pairs_{name}<{kind}>({', '.join(operands)})"

    def condition(self, depth: int) -> str:
        kind = self.pick((*self.whole, *self.floats))
        relation = self.pick(["<", "<=", ">", ">=", "==", "!="])
        first = f"({self.expression(kind, depth)} {relation} {self.expression(kind, depth)})"
        if depth and self.random.random() < 0.3:
            return f"({first} {self.pick(['&&', '||', '!='])} {self.condition(depth - 1)})"
        return first if self.random.random() < 0.85 else f"!{first}"

    # ---- statements ----

    def name(self, kind: str) -> str:
        self.counter += 1
        return f"{kind}{self.counter}"

    def assignment(self, indent: str) -> str:
        kind = self.pick(self.types)
        return f"{indent}{self.variable(kind)} = {self.expression(kind, self.random.randint(1, 3))};"

    def block(self, indent: str, depth: int, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            chance = self.random.random() if depth else 1
            if chance < 0.12:
                lines += self.branch(indent, depth)
            elif chance < 0.22:
                lines += self.loop(indent, depth)
            elif chance < 0.28:
                lines += self.switch(indent, depth)
            elif chance < 0.36:
                lines += self.array(indent)
            elif chance < 0.44:
                lines.append(self.call(indent))
            else:
                lines.append(self.assignment(indent))
        return lines

    def branch(self, indent: str, depth: int) -> list[str]:
        lines = [
            f"{indent}if ({self.condition(1)}) {{",
            *self.block(indent + "    ", depth - 1, self.random.randint(1, 3)),
        ]
        if self.random.random() < 0.6:
            lines += [f"{indent}}} else {{", *self.block(indent + "    ", depth - 1, self.random.randint(1, 3))]
        return [*lines, indent + "}"]

    def loop(self, indent: str, depth: int) -> list[str]:
        """As often for all lanes, or as one of a lane's numbers says, with a way out."""
        k = self.name("k")
        bound = str(self.random.randint(2, 7)) if self.random.random() < 0.6 else f"(int)({self.variable('u32')} & 7)"
        inner = indent + "    "
        lines = [f"{indent}for (int {k} = 0, {k}_end = {bound}; {k} < {k}_end; {k}++) {{"]
        lines += self.block(inner, depth - 1, self.random.randint(1, 3))
        lines.append(f"{inner}{self.variable('u32')} += (u32){k} * {self.random.randint(1, 99)};")
        if self.random.random() < 0.3:
            lines.append(f"{inner}if ({self.condition(0)}) {self.pick(['break', 'continue'])};")
        return [*lines, indent + "}"]

    def switch(self, indent: str, depth: int) -> list[str]:
        lines = [f"{indent}switch ({self.variable('u32')} & 3) {{"]
        for case in range(3):
            lines += [f"{indent}case {case}:", *self.block(indent + "    ", depth - 1, 1)]
            if self.random.random() < 0.7:
                lines.append(f"{indent}    break;")
        return [*lines, f"{indent}default:", *self.block(indent + "    ", depth - 1, 1), indent + "}"]

    def array(self, indent: str) -> list[str]:
        """Filled, stirred and read at places that only the lane knows."""
        kind, a, k = self.pick((*self.whole, *self.floats)), self.name("a"), self.name("k")
        size = self.pick(["4", "8", "16"])
        return [
            f"{indent}{kind} {a}[{size}];",
            f"{indent}for (int {k} = 0; {k} < {size}; {k}++) {a}[{k}] = converted<{kind}>((i32){k} * (i32)7 - (i32)9);",
            f"{indent}{a}[{self.variable('u32')} % {size}] = {self.expression(kind, 1)};",
            f"{indent}{a}[{self.variable('u16')} % {size}] = {self.expression(kind, 1)};",
            f"{indent}{self.variable(kind)} = {a}[{self.variable('u32')} % {size}];",
        ]

    def call(self, indent: str) -> str:
        """A function that is not inlined, with a parameter of several types."""
        result = self.pick((*self.whole, *self.floats))
        kinds = [self.pick(self.types) for _ in range(self.random.randint(1, 4))]
        name = self.name(f"f{self.seed}_")
        body = self.expression(result, 2)
        for position, kind in enumerate(kinds):
            body = body.replace(f"s.{kind}_0", f"p{position}")
        parameters = ", ".join(["State &s", *(f"{kind} p{position}" for position, kind in enumerate(kinds))])
        used = "".join(f" (void)p{position};" for position in range(len(kinds)))
        self.functions.append(
            f"__host__ __device__ __attribute__((noinline)) static {result} {name}({parameters})\n"
            f"{{\n   {used} (void)s;\n    return {body};\n}}"
        )
        arguments = ", ".join(["s", *(self.expression(kind, 1) for kind in kinds)])
        return f"{indent}{self.variable(result)} = {name}({arguments});"

    # ---- steps ----

    def step(self) -> None:
        name = self.name(f"step{self.seed}_")
        lines = self.block("    ", 2, self.random.randint(4, 10))
        self.functions.append("\n".join([f"__host__ __device__ static void {name}(State &s)\n{{", *lines, "}"]))
        if self.random.random() < 0.3:
            self.alike(name)
            return
        self.device.append(f"    {name}(s);")
        self.host.append(f"    for (State &s : all) {name}(s);")

    def alike(self, step: str) -> None:
        """A step with the first lane's numbers in all lanes of a wave, which then keep half of their own."""
        self.device.append(f"    {{ State own = s; s = of_first_lane(s); {step}(s); s = half_of(own, s); }}")
        self.host.append(
            f"    {{ std::vector<State> own = all; all = all_of_first_lane(all, W); for (State &s : all) {step}(s);"
            " for (size_t t = 0; t < all.size(); t++) all[t] = half_of(own[t], all[t]); }"
        )

    def exchange(self) -> None:
        name, kinds = self.random.choice(EXCHANGES)
        source = self.pick(MOVED) if kinds == "any" else "u32" if kinds == "votes" else kinds
        result = "u64" if kinds == "votes" else source
        by = self.random.randint(1, 31) if name != "of_eight" else self.random.randint(0, 7)
        to, of = self.variable(result), self.variable(source)
        self.device.append(f"    {to} = lanes_{name}({of}, {by});")
        self.host.append(
            f"    {{ Values<{source}> v; for (State &s : all) v.push_back({of}); auto r = all_{name}(v, W, {by});"
            f" for (size_t t = 0; t < all.size(); t++) {{ State &s = all[t]; {to} = r[t]; }} }}"
        )


def source(seeds: Sequence[int], without: Sequence[str] = ()) -> str:
    """A whole HIP program: a kernel for each seed, and a main that compares GPU and host.

    without: types to leave out. It prints a line for each number that differs, and "N programs agree" at the end.
    """
    fields = " ".join(f"{kind} {kind}_{n};" for kind in TYPES for n in range(VARIABLES))
    kept = " ".join(f"other.{kind}_0 = own.{kind}_0;" for kind in TYPES if kind not in without)
    listed = " ".join(f"X({kind}_{n})" for kind in TYPES for n in range(VARIABLES))
    programs = "\n".join(Program(seed, without).text() for seed in seeds)
    table = ",\n    ".join(f"{{{seed}, k_{seed}, host_{seed}}}" for seed in seeds)
    return (
        f'#include "exchanges.h"\n\nstruct State {{ {fields} }};\n#define FIELDS {listed}\n'
        f"FN State half_of(const State &own, State other)\n{{\n    {kept}\n    return other;\n}}\n\n{programs}\n"
        f'#include "comparison.h"\n\nstatic const Pair pairs[] = {{\n    {table},\n}};\n\n'
        "int main() { return compare(pairs, sizeof pairs / sizeof *pairs); }\n"
    )

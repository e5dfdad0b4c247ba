"""Names, masks, includes, sizes; what two runs say. Nothing is compiled here."""

from pathlib import Path

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.compare import Said, difference
from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.functions import prints_on_gpu
from amdkernel_mcp.port.keep_warps import header_files, stand_ins
from amdkernel_mcp.port.sources import MOST_FILES, CudaProgram, read_file, read_folder, sent_files, with_sizes
from amdkernel_mcp.port.tokens import joined_launches
from amdkernel_mcp.port.translate import translate

NAMES = CudaNames.of(
    [
        "hipMalloc",
        "hipMemcpy",
        "hipMemcpyHostToDevice",
        "hipDeviceProp_t",
        "hipFuncSetAttribute",
        "hipMemcpyToSymbol",
        "hipDeviceAttributeMultiprocessorCount",
        "HIP_R_16F",
    ]
)


def hip(text: str) -> str:
    return translate(f"#include <cuda_runtime.h>\n{text}", NAMES).text.removeprefix("#include <hip/hip_runtime.h>\n")


@pytest.mark.parametrize(
    ("cuda", "wanted"),
    [
        ("cudaMalloc(&p, 4); // cudaMalloc", "hipMalloc(&p, 4); // cudaMalloc"),
        ('puts("cudaMalloc"); cudaSafe(p);', 'puts("cudaMalloc"); cudaSafe(p);'),
        ("cudaDevAttrMultiProcessorCount", "hipDeviceAttributeMultiprocessorCount"),
        ("CUDA_R_16F", "HIP_R_16F"),
        ("__ballot_sync(0xffffffff, p); __syncwarp(0xffffffff);", "__ballot(p); __syncwarp();"),
        ("__reduce_add_sync(~0u, v)", "__reduce_add_sync(0xffffffffffffffffull, v)"),
        ("__shfl_sync(m, v, 0)", "__shfl_sync((unsigned long long)(m), v, 0)"),
        ("__shfl_sync(__activemask(), v, 0)", "__shfl_sync(__activemask(), v, 0)"),
        ("__syncwarp();", "__syncwarp();"),
        ("#ifdef __DRIVER_TYPES_H__\n#endif", "#ifdef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H\n#endif"),
        ("void k(const __grid_constant__ int a);", "void k(const  int a);"),
        ("memset(p, 0, 4);", "#include <string.h>\nmemset(p, 0, 4);"),
        ("cudaFuncSetAttribute(k<4>, a, 1)", "hipFuncSetAttribute(reinterpret_cast<const void*>(k<4>), a, 1)"),
        ("cudaMemcpyToSymbol(s, p, 4)", "hipMemcpyToSymbol(HIP_SYMBOL(s), p, 4)"),
        (
            "cublasSgemm(h, CUBLAS_OP_N); curand_init(1, 2, 3, &s);",
            "hipblasSgemm(h, HIPBLAS_OP_N); hiprand_init(1, 2, 3, &s);",
        ),
        ("using namespace nvcuda; nvcuda::wmma::fill(f);", "namespace wmma = rocwmma; rocwmma::fill(f);"),
        ("cub::BlockReduce<int, 4> r; register int i;", "hipcub::BlockReduce<int, 4> r;  int i;"),
    ],
)
def test_cuda_becomes_hip(cuda: str, wanted: str) -> None:
    assert hip(cuda) == wanted


def test_a_mask_behind_a_name_is_left_out_and_named_in_the_changes() -> None:
    done = translate("#define ALL 0xffffffffu\n__device__ int f(int v) { return __any_sync(ALL, v); }\n", NAMES)
    assert "return __any(v)" in done.text
    assert done.text.startswith("#include <hip/hip_runtime.h>\n#define ALL")
    assert ("mask of all lanes left out: HIP's function for the whole wave", 2) in [
        (each.what, each.line) for each in done.changes
    ]


def test_what_hip_has_not_is_listed() -> None:
    assert translate("cudaMalloc(); cudaGraphInstantiateSpecial();", NAMES).missing == ("cudaGraphInstantiateSpecial",)


def test_a_library_has_a_stand_in_that_the_answer_names() -> None:
    files = header_files(NAMES, ["mma.h", "curand_kernel.h", "helper_math.h"], identifiers=[])
    assert {f"cuda-on-hip/{name}" for name in ("mma.h", "cuda_mma.h", "cuda_rand.h", "helper_math.h")} <= set(files)
    assert not [name for name in files if "blas" in name]
    assert [each.split()[0] for each in stand_ins(["curand.h", "curand_kernel.h", "mma.h", "stdio.h"])] == [
        "cuRAND", "nvcuda::wmma",
    ]  # fmt: skip


def test_sizes_are_changed_where_they_are_defined() -> None:
    program = CudaProgram("a.cu", {"a.cu": "#define N (1 << 20)\nconst int ROWS = 4096, COLS = N;\nint n = N;\n"})
    sized, flags = with_sizes(program, ["N=64", "ROWS=8", "OTHER=1"])
    assert sized.files["a.cu"] == "#define N 64\nconst int ROWS = 8, COLS = N;\nint n = N;\n"
    assert flags == ["-DOTHER=1"]
    with pytest.raises(InputError, match="NAME=VALUE"):
        with_sizes(program, ["N=$(id)"])


def test_a_file_takes_along_what_it_includes(tmp_path: Path) -> None:
    (tmp_path / "a/sub").mkdir(parents=True)
    (tmp_path / "shared/deep").mkdir(parents=True)
    texts = {
        "a/main.cu": '#include "k.h"\n#include "../b.h"\n#include <deep/c.h>\n#include <stdio.h>\nint main() {}\n',
        "a/k.h": '#include "sub/in.h"\n',
        "a/sub/in.h": "",
        "a/not_wanted.h": "",
        "b.h": "// \xe9\n",
        "shared/deep/c.h": '#include "d.h"\n',
        "shared/deep/d.h": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    found = read_file(tmp_path / "a/main.cu", [tmp_path / "shared"])
    assert found.main == "a/main.cu"
    assert sorted(found.files) == [
        "a/k.h", "a/main.cu", "a/sub/in.h", "b.h", "include-0/deep/c.h", "include-0/deep/d.h",
    ]  # fmt: skip
    assert found.units == ["a/main.cu"]
    with_host = CudaProgram("main.cu", {"main.cu": '#include "map/host.cu"\nint main() {}', "map/host.cu": ""})
    assert with_host.units == ["main.cu"]
    folder = read_folder(tmp_path / "a", [tmp_path / "shared"])
    assert set(found.files) | {"a/not_wanted.h"} == set(folder.files)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("k << <g, b >> > (x, y);", "k<<<g, b>>>(x, y);"),
        ("k<int> <<< g(1), b > >> (x);", "k<int><<<g(1), b>>>(x);"),
        ("std::cout << k << 3; A<B<C<int>> > (x);", "std::cout << k << 3; A<B<C<int>> > (x);"),
        ("k<<<1, 2>>>(x);", "k<<<1, 2>>>(x);"),
    ],
)
def test_a_launch_with_spaces_in_its_signs_is_joined(text: str, joined: str) -> None:
    made, count = joined_launches(text)
    assert made.replace(" ", "") == joined.replace(" ", "")
    assert count == (made != text)
    assert ("<<<" in made) is ("<<<" in joined)


def test_files_that_are_sent_have_names_below_the_source() -> None:
    assert sent_files({"inc/a.cuh": "", "b.h": "x"}) == {"inc/a.cuh": "", "b.h": "x"}
    for name in ("../a.h", "/etc/a.h", "a.so", "inc//a.h", "a b.h", "inc/../../a.h"):
        with pytest.raises(InputError, match="cannot be a source"):
            sent_files({name: ""})
    with pytest.raises(InputError, match="at most"):
        sent_files({f"a{n}.h": "" for n in range(MOST_FILES + 1)})


@pytest.mark.parametrize(
    ("narrow", "wide", "differs"),
    [
        ("sum 1.0000\n", "sum 1.0001\n", False),
        ("sum 1.00\n", "sum 1.02\n", True),
        ("count 7\n", "count 8\n", True),
        ("time 3.2 ms\nok\n", "time 9.9 ms\nok\n", False),
        ("PASS\n", "FAIL\n", True),
        ("Device 0: gfx1100\n1\n", "Device 0: gfx942\n1\n", False),
        ("numBlocks: 96\nsum 7\n", "numBlocks: 608\nsum 7\n", False),
        ("a\n", "a\nb\n", True),
        ("Launching 96 blocks of 64 threads\n7\n", "Launching 608 blocks of 64 threads\n7\n", False),
    ],
)
def test_results_are_compared_and_times_are_not(narrow: str, wide: str, differs: bool) -> None:
    assert (difference(Said(0, narrow, {}), Said(0, wide, {})) is not None) is differs


def test_lines_of_kernels_may_come_in_any_order_and_those_of_the_host_may_not() -> None:
    one, two = Said(0, "block 0\nblock 1\n", {}), Said(0, "block 1\nblock 0\n", {})
    assert difference(one, two) is not None
    assert difference(one, two, any_order=True) is None
    assert difference(one, Said(0, "block 1\nblock 2\n", {}), any_order=True) is not None
    assert prints_on_gpu('__global__ void k() { printf("a"); }')
    assert not prints_on_gpu('__global__ void k() {}\nint main() { printf("a"); }')


def test_times_and_devices_alone_are_no_result() -> None:
    assert Said(0, "Device 0: gfx942\nkernel time 3 us\nRunning\n", {}).results == 0
    assert Said(0, "Device 0: gfx942\nPASS\nsum 3\n", {}).results == 2
    assert Said(0, "No errors\n", {}).results == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("Test FAILED\n", True), ("max error: 0\n", False), ("0 errors\n", False), ("PASS, no errors\n", False)],
)
def test_the_programs_own_check_is_read(text: str, wrong: bool) -> None:
    assert Said(0, text, {}).looks_wrong is wrong

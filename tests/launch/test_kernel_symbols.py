import pytest

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.launch.kernel_symbols import Parameter, find_kernel, kernel_symbols, source_name, symbols_called

pytestmark = pytest.mark.sandbox

SOURCE = """\
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(256) plain(const float* x, int n, long m, char c, double* y)
{
    __shared__ float s[64];
    s[threadIdx.x % 64] = x[n];
    __syncthreads();
    y[blockIdx.x * blockDim.x] = s[m] + c;
}
__global__ void mangled(float* y) { y[0] = 1; }
template <typename T, int N> __global__ void scale(T* y) { y[0] = (T)N; }
template __global__ void scale<float, 4>(float*);
template __global__ void scale<__half, -1>(__half*);
"""


@pytest.fixture(scope="module")
def kernels(sandbox, settings):
    compiled = Compiler(sandbox, settings.cache_dir).compile(SOURCE, arch="gfx942")
    assert compiled.code_object, compiled.result.diagnostics
    return kernel_symbols(compiled.code_object)


def test_a_code_object_tells_parameters_without_the_hidden_ones(kernels):
    plain = find_kernel(kernels, "plain")
    pointer = Parameter(is_pointer=True, bytes=8)
    scalars = tuple(Parameter(is_pointer=False, bytes=size) for size in (4, 8, 1))
    assert plain.parameters == (pointer, *scalars, pointer)
    assert (plain.max_block, plain.static_lds_bytes) == (256, 256)


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("mangled", "_Z7mangledPf"),
        ("scale<float, 4>", "_Z5scaleIfLi4EEvPT_"),
        ("scale<__half,-1>", "_Z5scaleI6__halfLin1EEvPT_"),
    ],
)
def test_a_kernel_without_extern_c_is_found_by_its_name(kernels, name, symbol):
    assert find_kernel(kernels, name).symbol == symbol


def test_a_template_with_two_instances_has_to_be_named_in_full(kernels):
    assert find_kernel(kernels, "scale") == ["scale<float, 4>", "scale<__half, -1>"]


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("mangled", ["_Z7mangledPf"]),
        ("_Z7mangledPf", ["_Z7mangledPf"]),
        ("scale<float,4>", ["_Z5scaleIfLi4EEvPT_"]),
        ("scale", ["_Z5scaleIfLi4EEvPT_", "_Z5scaleI6__halfLin1EEvPT_"]),
    ],
)
def test_a_name_means_all_instances_of_a_template(kernels, name, symbols):
    assert symbols_called(name, [kernel.symbol for kernel in kernels]) == symbols


def test_a_kernel_that_is_not_there_is_told_with_those_that_are(kernels):
    with pytest.raises(InputError, match="no kernel is called 'skale'") as raised:
        symbols_called("skale", [kernel.symbol for kernel in kernels])
    assert "scale<float, 4>" in raised.value.hint


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN4deep12_GLOBAL__N_15tableE", "table"),
        ("_ZZ4bumpfE5inner_0", "inner"),
        ("_ZZ4bumpfE5inner__12_", "inner"),
        ("_ZZN2ns3ptrIfEEPT_S2_iE5store", "store"),
        ("_ZZZ4morePiiENKUliE_clEiE9in_lambda", "in_lambda"),
        ("_ZN3BoxIfE3allE", "all"),
        ("_Z5templILi4EE", "templ<4>"),
        ("_ZN2ns4kernIfEEv3Foo", "kern<float>"),
        ("_ZN2ns4kernE3Foo", "kern"),
        ("_ZZ", "_ZZ"),
        ("_ZZ4bumpfE9inner", "_ZZ4bumpfE9inner"),
    ],
)
def test_statics_of_functions_and_members_of_templates_bear_their_own_names(symbol, name):
    assert source_name(symbol) == name

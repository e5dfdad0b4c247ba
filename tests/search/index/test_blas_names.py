"""Names of BLAS and LAPACK routines in words."""

import pytest

from amdkernel_mcp.search.index.blas_names import routine_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hipblasZher2k", "double precision complex hermitian matrix rank 2k update"),
        ("rocblas_izamax", "double precision complex index of largest"),
        ("hipblasSgemmStridedBatched", "single precision float real general matrix matrix product multiply"),
        ("rocblas_csscal", "single precision complex by real scale vector"),
        ("hipsolverDsyevj", "double precision real symmetric matrix eigenvalues"),
        ("rocblas_dtbsv_strided_batched", "double precision real triangular banded matrix solve"),
    ],
)
def test_a_routine_is_spelled_out_by_its_parts(name: str, words: str) -> None:
    assert " ".join(routine_words(name)).startswith(words)


@pytest.mark.parametrize("name", ["rocblas_create_handle", "hipblasSetStream", "hipMalloc", "gemm", ""])
def test_a_name_of_another_scheme_says_nothing(name: str) -> None:
    assert not list(routine_words(name))

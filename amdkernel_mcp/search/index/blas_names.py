"""What a routine of BLAS or LAPACK does, from its name: `hipblasZher2k` is a Hermitian rank-2k update, double complex.

The names follow one scheme in all libraries: a letter for the precision, two for the kind of matrix, the rest for the
operation (LAPACK Users' Guide, "Naming Scheme"; Lawson and others, ACM TOMS 5, 1979). People ask in words.
"""

import re
from collections.abc import Iterator

_NAME = re.compile(
    r"(?:roc|hip|cu)(?:blas|solver)_?i?(cs|zd|sc|dz|[sdczhb])(\w+?)"
    r"(?:_?strided)?(?:_?batched)?(?:_?ex)?(?:_64)?"
)
_PRECISIONS = {
    "s": "single precision float real",
    "d": "double precision real",
    "c": "single precision complex",
    "z": "double precision complex",
    "h": "half precision",
    "cs": "single precision complex by real",
    "zd": "double precision complex by real",
    "sc": "single precision complex",
    "dz": "double precision complex",
    "b": "bfloat16",
}
_MATRICES = {
    "ge": "general matrix",
    "gb": "general banded matrix",
    "he": "hermitian matrix",
    "hb": "hermitian banded matrix",
    "hp": "hermitian packed matrix",
    "sy": "symmetric matrix",
    "sb": "symmetric banded matrix",
    "sp": "symmetric packed matrix",
    "tr": "triangular matrix",
    "tb": "triangular banded matrix",
    "tp": "triangular packed matrix",
    "dg": "diagonal matrix",
    "po": "positive definite matrix",
}
_OPERATIONS = {
    "mv": "vector product multiply",
    "mm": "matrix product multiply",
    "sv": "solve triangular system vector",
    "sm": "solve triangular system several right-hand sides",
    "r": "rank one update",
    "ru": "rank one update",
    "rc": "rank one update conjugated",
    "r2": "rank two update",
    "rk": "rank k update",
    "r2k": "rank 2k update",
    "rkx": "rank k update",
    "am": "matrix addition",
    "trf": "factorization LU Cholesky",
    "trs": "solve system with factorization",
    "tri": "inverse",
    "qrf": "QR factorization",
    "ls": "least squares",
    "ev": "eigenvalues eigenvectors",
    "evd": "eigenvalues eigenvectors divide and conquer",
    "evj": "eigenvalues eigenvectors Jacobi",
    "gvd": "generalized eigenvalues divide and conquer",
    "gvj": "generalized eigenvalues Jacobi",
    "svd": "singular value decomposition",
}
_VECTORS = {
    "scal": "scale vector multiply by scalar",
    "axpy": "add scaled vector to vector",
    "copy": "copy vector",
    "swap": "swap exchange vectors",
    "dot": "dot inner product of vectors",
    "dotc": "conjugated dot inner product of vectors",
    "dotu": "dot inner product of vectors",
    "nrm2": "Euclidean norm of vector",
    "asum": "sum of absolute values magnitudes of vector",
    "amax": "index of largest maximum magnitude absolute value in vector",
    "amin": "index of smallest minimum magnitude absolute value in vector",
    "rot": "apply plane Givens rotation to vectors",
    "rotg": "construct create plane Givens rotation",
    "rotm": "apply modified Givens rotation to vectors",
    "rotmg": "construct create modified Givens rotation",
}


def routine_words(name: str) -> Iterator[str]:
    """What the name says in plain words; nothing for a name of another scheme."""
    found = _NAME.fullmatch(name.lower())
    if found is None:
        return
    precision, routine = found.groups()
    matrix, operation = _MATRICES.get(routine[:2]), _OPERATIONS.get(routine[2:])
    does = _VECTORS.get(routine) or (matrix and operation and f"{matrix} {operation}")
    if does:
        yield f"{_PRECISIONS[precision]} {does}"

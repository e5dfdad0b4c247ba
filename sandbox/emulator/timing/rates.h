/* How fast the parts of a unit are, by architecture: clocks of the shader, bytes a clock. A unit is a CU, or on RDNA in WGP
 * mode the two CUs of a workgroup processor. */
#ifndef AMDKERNEL_TIMING_RATES_H
#define AMDKERNEL_TIMING_RATES_H

#include "machine/machine.h"

typedef enum { MATRIX_F16, MATRIX_BF16, MATRIX_F32, MATRIX_F64, MATRIX_I8, MATRIX_F8, MATRIX_XF32, MATRIX_F6F4, MATRIX_TYPES } MatrixType;

typedef struct {
    const char *arch;
    bool rdna;
    u8 slot;             /* clocks between two instructions of a SIMD's waves */
    u8 vector, dependent;  /* clocks of the SIMD, and until the result can be read */
    u8 transcendental, transcendental_result;
    u8 multiply, multiply_result; /* of 32-bit integers */
    u8 doubles, doubles_result;
    u8 scalar_result, branch, barrier;
    u16 lds, scalar_load;    /* latency without load */
    u16 level[4];        /* latency until the data are there: vL1D, L2, Infinity Cache, memory */
    u16 matrix[MATRIX_TYPES]; /* flop a clock of a SIMD; 0: it has none */
    u16 start;           /* from the end of a workgroup to the first instruction of the next */
    float address;       /* bytes a clock of the address unit of a CU */
    float l2_share;      /* bytes a clock of a CU from the L2 */
    float mall, memory;  /* bytes a clock of the whole part; mall 0: it has no Infinity Cache */
    float shared_lds;    /* of a unit in WGP mode, in times one CU's LDS */
} Rates;

/* NULL: not known. */
const Rates *rates_of(const char *arch);

#endif

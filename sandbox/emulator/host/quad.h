/* A float of 128 bits, IEEE's binary128, under the name that the processor's ABI gives it. */
#ifndef AMDKERNEL_HOST_QUAD_H
#define AMDKERNEL_HOST_QUAD_H

#if defined(__x86_64__)
typedef __float128 Quad;
#else
typedef long double Quad;
_Static_assert(__LDBL_MANT_DIG__ == 113, "binary128");
#endif

#endif

/* Copies in two and three dimensions. */
#ifndef AMDKERNEL_HIP_COPY_2D_3D_H
#define AMDKERNEL_HIP_COPY_2D_3D_H

#include "hip/work/work.h"

hipError_t copy_2d_3d_run(const Copy2D3DWork *w);
/* The copy that a structure of HIP describes: hipMemcpy3D's, hipMemcpyParam2D's, hipDrvMemcpy3D's. hipErrorNotSupported
 * when it names an array. */
hipError_t copy_2d_3d_from_parameters(const hipMemcpy3DParms *p, Copy2D3DWork *out);
hipError_t copy_2d_3d_from_rows(const hip_Memcpy2D *p, Copy2D3DWork *out);
hipError_t copy_2d_3d_from_driver(const HIP_MEMCPY3D *p, Copy2D3DWork *out);

#endif

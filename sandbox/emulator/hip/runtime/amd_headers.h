/*
 * AMD's headers, of HIP 6 or of HIP 7. This library is built with either, and serves programs built with the other. A
 * call that only HIP 7 declares, or that the two declare differently, is declared where we define it, in types that both
 * have: here the header's own declaration gets another name.
 */
#ifndef AMDKERNEL_HIP_AMD_HEADERS_H
#define AMDKERNEL_HIP_AMD_HEADERS_H

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif

#define hipLibraryLoadData declared_hipLibraryLoadData
#define hipLibraryLoadFromFile declared_hipLibraryLoadFromFile
#define hipLibraryUnload declared_hipLibraryUnload
#define hipLibraryGetKernel declared_hipLibraryGetKernel
#define hipLibraryGetKernelCount declared_hipLibraryGetKernelCount
#define hipLibraryEnumerateKernels declared_hipLibraryEnumerateKernels
#define hipKernelGetLibrary declared_hipKernelGetLibrary
#define hipKernelGetName declared_hipKernelGetName
#define hiprtcCreateProgram declared_hiprtcCreateProgram
#define hiprtcCompileProgram declared_hiprtcCompileProgram
#define hipMemcpyBatchAsync declared_hipMemcpyBatchAsync
#define hipMemcpy3DBatchAsync declared_hipMemcpy3DBatchAsync
#define hipMemcpy3DPeer declared_hipMemcpy3DPeer
#define hipMemcpy3DPeerAsync declared_hipMemcpy3DPeerAsync
#define hipCtxGetApiVersion declared_hipCtxGetApiVersion
#define hipLaunchKernelExC declared_hipLaunchKernelExC
#define hipDrvLaunchKernelEx declared_hipDrvLaunchKernelEx
#define hipGetDriverEntryPoint declared_hipGetDriverEntryPoint
#define hipGetDriverEntryPoint_spt declared_hipGetDriverEntryPoint_spt
#define hipStreamSetAttribute declared_hipStreamSetAttribute
#define hipStreamGetAttribute declared_hipStreamGetAttribute

#include <hip/hip_runtime_api.h>
#include <hip/hip_deprecated.h>
#include <hip/hip_version.h>
#include <hip/hiprtc.h>

#undef hipLibraryLoadData
#undef hipLibraryLoadFromFile
#undef hipLibraryUnload
#undef hipLibraryGetKernel
#undef hipLibraryGetKernelCount
#undef hipLibraryEnumerateKernels
#undef hipKernelGetLibrary
#undef hipKernelGetName
#undef hiprtcCreateProgram
#undef hiprtcCompileProgram
#undef hipMemcpyBatchAsync
#undef hipMemcpy3DBatchAsync
#undef hipMemcpy3DPeer
#undef hipMemcpy3DPeerAsync
#undef hipCtxGetApiVersion
#undef hipLaunchKernelExC
#undef hipDrvLaunchKernelEx
#undef hipGetDriverEntryPoint
#undef hipGetDriverEntryPoint_spt
#undef hipStreamSetAttribute
#undef hipStreamGetAttribute

#if HIP_VERSION_MAJOR >= 7
typedef hipMemsetParams HIP_MEMSET_NODE_PARAMS; /* HIP 6 has two structures with the same fields */
#endif

#endif

/* Linking bitcode at run time: the linker of AMD's libhiprtc under the driver API's names. */
#include "hip/runtime/answer.h"
#include "hip/runtime/unsupported.h"

#include <hip/hiprtc.h>

static hipError_t error_of(const char *call, hiprtcResult result)
{
    switch (result) {
    case HIPRTC_SUCCESS: return hipSuccess;
    case HIPRTC_ERROR_OUT_OF_MEMORY: return answer(hipErrorOutOfMemory);
    case HIPRTC_ERROR_INVALID_INPUT: case HIPRTC_ERROR_INVALID_OPTION: return answer(hipErrorInvalidValue);
    case HIPRTC_ERROR_INVALID_PROGRAM: return answer(hipErrorInvalidHandle);
    case HIPRTC_ERROR_INTERNAL_ERROR: return unsupported(call, "it requires libhiprtc.so, whose linker did not answer");
    default: return answer(hipErrorInvalidConfiguration);
    }
}

hipError_t hipLinkCreate(unsigned count, hipJitOption *options, void **values, hipLinkState_t *state)
{
    if (!state || (count && (!options || !values)))
        return answer(hipErrorInvalidValue);
    return error_of("hipLinkCreate", hiprtcLinkCreate(count, options, values, (hiprtcLinkState *)state));
}

hipError_t hipLinkAddData(hipLinkState_t state, hipJitInputType type, void *data, size_t bytes, const char *name,
                          unsigned count, hipJitOption *options, void **values)
{
    if (!state || !data || !bytes)
        return answer(state ? hipErrorInvalidValue : hipErrorInvalidHandle);
    return error_of("hipLinkAddData",
                    hiprtcLinkAddData((hiprtcLinkState)state, type, data, bytes, name, count, options, values));
}

hipError_t hipLinkAddFile(hipLinkState_t state, hipJitInputType type, const char *path, unsigned count,
                          hipJitOption *options, void **values)
{
    if (!state || !path)
        return answer(state ? hipErrorInvalidValue : hipErrorInvalidHandle);
    return error_of("hipLinkAddFile", hiprtcLinkAddFile((hiprtcLinkState)state, type, path, count, options, values));
}

hipError_t hipLinkComplete(hipLinkState_t state, void **code, size_t *bytes)
{
    if (!state || !code)
        return answer(state ? hipErrorInvalidValue : hipErrorInvalidHandle);
    size_t unasked;
    return error_of("hipLinkComplete", hiprtcLinkComplete((hiprtcLinkState)state, code, bytes ? bytes : &unasked));
}

hipError_t hipLinkDestroy(hipLinkState_t state)
{
    if (!state)
        return answer(hipErrorInvalidHandle);
    return error_of("hipLinkDestroy", hiprtcLinkDestroy((hiprtcLinkState)state));
}

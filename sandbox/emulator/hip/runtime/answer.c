/* What an API function returns, and the last error of each thread. */
#include "hip/runtime/answer.h"

static _Thread_local hipError_t last_error = hipSuccess;

hipError_t answer(hipError_t error)
{
    if (error != hipSuccess && error != hipErrorNotReady) /* AMD's runtime does not count it as an error */
        last_error = error;
    return error;
}

hipError_t hipGetLastError(void)
{
    hipError_t error = last_error;
    last_error = hipSuccess;
    return error;
}

hipError_t hipExtGetLastError(void)
{
    return hipGetLastError();
}

hipError_t hipPeekAtLastError(void)
{
    return last_error;
}

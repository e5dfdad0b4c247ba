#include "hip/runtime/unsupported.h"

#include "hip/runtime/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calls that were reported already, so that a loop does not flood stderr. */
static const char *reported[1024];

hipError_t unsupported(const char *call, const char *why)
{
    size_t n = 0;
    runtime_lock();
    while (n < sizeof reported / sizeof *reported && reported[n] && strcmp(reported[n], call))
        n++;
    bool first = n < sizeof reported / sizeof *reported && !reported[n];
    if (first)
        reported[n] = call;
    runtime_unlock();
    if (first)
        fprintf(stderr, "amdkernel emulator: %s is not supported: %s\n", call, why);
    return answer(hipErrorNotSupported);
}

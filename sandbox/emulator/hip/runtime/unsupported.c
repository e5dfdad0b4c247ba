#include "hip/runtime/unsupported.h"

#include "hip/runtime/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One table of what has been told, so that a loop does not flood stderr. */
static const char *told[1024];

hipError_t unsupported(const char *call, const char *why)
{
    size_t n = 0;
    runtime_lock();
    while (n < sizeof told / sizeof *told && told[n] && strcmp(told[n], call))
        n++;
    bool first = n < sizeof told / sizeof *told && !told[n];
    if (first)
        told[n] = call;
    runtime_unlock();
    if (first)
        fprintf(stderr, "amdkernel emulator: %s is not supported: %s\n", call, why);
    return answer(hipErrorNotSupported);
}

/* HIP's own headers, with the macros that they require. It comes before every system header. */
#ifndef AMDKERNEL_HIP_HIP_H
#define AMDKERNEL_HIP_HIP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, strdup, recursive mutexes */
#endif

#include "emulator.h"

#include <pthread.h>

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>
#include <hip/hip_deprecated.h>

#pragma GCC visibility push(default) /* libamdhip64.map decides what is exported */

#endif

/* HIP's types and ours, for all files of the front end. It comes before every system header. */
#ifndef AMDKERNEL_HIP_HIP_H
#define AMDKERNEL_HIP_HIP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, strdup, recursive mutexes */
#endif

#include "emulator.h"

#include <pthread.h>

#include "hip/runtime/amd_headers.h"

#pragma GCC visibility push(default) /* libamdhip64.map decides what is exported */

#endif

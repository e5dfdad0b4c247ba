/* Containers of code objects, which hold one ELF file for each architecture. */
#ifndef AMDKERNEL_HIP_BUNDLE_H
#define AMDKERNEL_HIP_BUNDLE_H

#include "hip/runtime/hip.h"

/* The ELF file for `device`, which is named as in target_fits(), in `file`, which is an ELF file itself or a bundle. Free
 * *owned when it is not NULL. On an error the reason is in `why`, a sentence. */
hipError_t bundle_find(const u8 *file, size_t bytes, const char *device, const u8 **elf, size_t *elf_bytes, void **owned,
                       char *why, size_t why_bytes);

/* Calls `visit` for every entry of the bundle at `file`. The entry's bytes are valid during the call only. False when it
 * is not a bundle. */
bool bundle_each(const u8 *file, u64 bytes, void (*visit)(const u8 *elf, u64 size, void *context), void *context);

#endif

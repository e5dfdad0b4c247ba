/* For which GPU a code object was made, as AMD's runtime reads it: from the header of the ELF file alone. */
#ifndef AMDKERNEL_HIP_TARGET_H
#define AMDKERNEL_HIP_TARGET_H

#include <elf.h>

#include "emulator.h"

typedef struct {
    char name[64]; /* with what it requires: "gfx942:sramecc+:xnack-" */
    u32 version;   /* of the code object: 3 to 6 */
} Target;

/* "gfx942", "gfx9-4-generic"; NULL for an architecture that LLVM does not know. */
const char *target_arch(u32 e_flags);

/* False, and a sentence in `why`, for a file that AMD's runtime refuses on every GPU, or of code object version 2. */
bool target_read(const Elf64_Ehdr *h, Target *out, char *why, size_t why_bytes);

/* Whether a device, named as hipDeviceProp_t.gcnArchName does, runs it: the same architecture or one of the generic
 * ones, and each feature that the code object requires is set as the device has it. */
bool target_fits(const Target *t, const char *device);

/* The architecture in the triple of a bundle's entry, "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" or
 * "hipv4-amdgpu9.42-amd-amdhsa-unknown-gfx942", with its features; NULL when it is not one of an AMD GPU. */
const char *target_of_triple(const char *triple);

#endif

/* The device code in a file: a code object, a bundle of them, or a host file that carries bundles. */
#ifndef AMDKERNEL_COVERAGE_IMAGES_H
#define AMDKERNEL_COVERAGE_IMAGES_H

#include "emulator.h"

typedef struct {
    const u8 *bytes;
    u64 size;
    const char *arch; /* "gfx942"; "unknown" when the ELF header names a machine that we have no name for */
} Image;

/* Executable bytes at a virtual address. */
typedef struct { const u8 *bytes; u64 size, address; } Code;

/* Calls `visit` for each ELF file of amdgcn in `file`. False when the file is none of the kinds above. */
bool images_each(const u8 *file, u64 size, void (*visit)(const Image *image, void *context), void *context);

/* Calls `visit` for each executable section. False when the ELF file is damaged. */
bool image_each_code(const Image *image, void (*visit)(const Code *code, void *context), void *context);

/* Lanes in a wave of the image's kernels, by the first of them; 0 if there is none. */
u32 image_wave_size(const Image *image);

/* Name of the function that holds `address`, or "". Valid as long as the image's bytes. */
const char *image_function(const Image *image, u64 address);

#endif

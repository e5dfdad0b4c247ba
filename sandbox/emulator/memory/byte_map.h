/* Maps with a bit for each byte of the arena. */
#ifndef AMDKERNEL_MEMORY_BYTE_MAP_H
#define AMDKERNEL_MEMORY_BYTE_MAP_H

#include "emulator.h"

/* For so many bytes of memory, all bits 0; untouched pages of it cost nothing. NULL: no address space. */
u8 *byte_map_create(u64 bytes);
void byte_map_destroy(u8 *map, u64 bytes);

/* All bits 0 again, while no thread sets any. */
void byte_map_clear(u8 *map, u64 bytes);

/* Bits low..high-1; several threads may do so. */
void byte_map_set(u8 *map, u64 low, u64 high, bool on);
bool byte_map_all(const u8 *map, u64 low, u64 high);
/* How many of these bits are 0, and the first such. */
u64 byte_map_missing(const u8 *map, u64 low, u64 high, u64 *first);

#endif

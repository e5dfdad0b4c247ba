/*
 * Calls that exist so that programs link and start, but that are not supported. This file includes no header of HIP: the
 * arguments of a call do not matter, and one definition serves them all.
 */
int unsupported(const char *call, const char *why);

#pragma GCC visibility push(default)

#define UNSUPPORTED(name) int name(void); int name(void) { return unsupported(#name, reason); }

#define reason "textures, surfaces and arrays need image instructions, which are not emulated"
#include "hip/runtime/unsupported_images.def"
#undef reason
#define reason "there are no graphics and no kernel driver to share with"
#include "hip/runtime/unsupported_sharing.def"
#undef reason

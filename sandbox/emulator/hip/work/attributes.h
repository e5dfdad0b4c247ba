/*
 * Attributes of streams and of kernel nodes. All but `cooperative` are hints: they are kept to be read, without effect.
 * HIP 6 and 7 have unions of different sizes for the values, so only the bytes of the requested attribute are accessed.
 */
#ifndef AMDKERNEL_HIP_ATTRIBUTES_H
#define AMDKERNEL_HIP_ATTRIBUTES_H

#include "hip/runtime/runtime.h"

typedef struct {
    hipAccessPolicyWindow window;
    int cooperative, policy, priority; /* policy 0: none was set */
    u8 domains[2];                     /* which default and remote are mapped to */
    int domain;
} Attributes;

/* `which` is a hipLaunchAttributeID of HIP 7. False when there is no such attribute or it cannot have this value. */
bool attribute_set(Attributes *a, int which, const void *value);
bool attribute_get(const Attributes *a, int which, void *value);

#endif

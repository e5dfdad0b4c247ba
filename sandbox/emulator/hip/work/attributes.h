/*
 * Attributes of streams and of kernel nodes: hints but for `cooperative`, told back as they were set. HIP 6 and 7 give
 * their values unions of different sizes, so only the bytes of the attribute that is asked for are touched.
 */
#ifndef AMDKERNEL_HIP_ATTRIBUTES_H
#define AMDKERNEL_HIP_ATTRIBUTES_H

#include "hip/runtime/runtime.h"

typedef struct {
    hipAccessPolicyWindow window;
    int cooperative, policy, priority; /* policy 0: none was set */
    u8 domains[2];                     /* that default and remote are mapped to */
    int domain;
} Attributes;

/* `which` is a hipLaunchAttributeID of HIP 7. False when there is no such attribute or it cannot have this value. */
bool attribute_set(Attributes *a, int which, const void *value);
bool attribute_get(const Attributes *a, int which, void *value);

#endif

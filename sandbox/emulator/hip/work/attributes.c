#include "hip/work/attributes.h"

#include <string.h>

/* Source: hip_runtime_api.h of HIP 7.1, hipLaunchAttributeID and hipSynchronizationPolicy. */
enum { ACCESS_POLICY_WINDOW = 1, COOPERATIVE = 2, SYNCHRONIZATION_POLICY = 3, PRIORITY = 8, SYNC_DOMAIN_MAP = 9,
       SYNC_DOMAIN = 10 };
enum { POLICY_AUTO = 1, POLICY_BLOCKING = 4 };

static void *field_of(Attributes *a, int which, size_t *bytes)
{
    switch (which) {
    case ACCESS_POLICY_WINDOW: *bytes = sizeof a->window; return &a->window;
    case COOPERATIVE: *bytes = sizeof a->cooperative; return &a->cooperative;
    case SYNCHRONIZATION_POLICY: *bytes = sizeof a->policy; return &a->policy;
    case PRIORITY: *bytes = sizeof a->priority; return &a->priority;
    case SYNC_DOMAIN_MAP: *bytes = sizeof a->domains; return &a->domains;
    case SYNC_DOMAIN: *bytes = sizeof a->domain; return &a->domain;
    default: return NULL;
    }
}

static bool is_possible(int which, const void *value)
{
    hipAccessPolicyWindow window;
    int number;
    memcpy(&number, value, sizeof number);
    if (which == SYNCHRONIZATION_POLICY)
        return number >= POLICY_AUTO && number <= POLICY_BLOCKING;
    if (which != ACCESS_POLICY_WINDOW)
        return true;
    memcpy(&window, value, sizeof window);
    return window.hitRatio >= 0 && window.hitRatio <= 1 && window.missProp != hipAccessPropertyPersisting;
}

bool attribute_set(Attributes *a, int which, const void *value)
{
    size_t bytes;
    void *field = field_of(a, which, &bytes);
    if (!field || !value || !is_possible(which, value))
        return false;
    memcpy(field, value, bytes);
    return true;
}

bool attribute_get(const Attributes *a, int which, void *value)
{
    size_t bytes;
    const void *field = field_of((Attributes *)(uintptr_t)a, which, &bytes);
    if (!field || !value)
        return false;
    memcpy(value, field, bytes);
    return true;
}

/*
 * Which devices the process sees, and in which order, as the environment says.
 *
 * Sources: ROCm documentation, "GPU isolation techniques"; ROCR-Runtime 6.4, core/runtime/amd_filter_device.cpp
 * (ROCR_VISIBLE_DEVICES); clr 6.4, rocclr/device/rocm/rocdevice.cpp (HIP_VISIBLE_DEVICES, else CUDA_VISIBLE_DEVICES,
 * which count what the first one has left).
 */
#include "hip/devices/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct { int of[MAX_DEVICES], count; } List;

static List seen; /* the machine's number of each device that the process sees */

/* The place in `all` of the one device whose unique id begins as the token says; -1: none, or several. */
static int by_uuid(const List *all, const char *token)
{
    int found = -1;
    for (int k = 0; k < all->count; k++) {
        hipUUID uuid = machine_uuid(all->of[k]);
        size_t length = strlen(token);
        if (!length || length > sizeof uuid.bytes || strncasecmp(token, uuid.bytes, length))
            continue;
        if (found >= 0)
            return -1;
        found = k;
    }
    return found;
}

/* -1: the token names no device of `all`. */
static int place_of_token(const List *all, const char *token)
{
    char *end;
    if (!strncasecmp(token, "GPU-", 4))
        return by_uuid(all, token + 4);
    errno = 0;
    long number = strtol(token, &end, 10);
    return *token && !*end && !errno && number >= 0 && number < all->count ? (int)number : -1;
}

static bool holds(const List *l, int device)
{
    for (int k = 0; k < l->count; k++)
        if (l->of[k] == device)
            return true;
    return false;
}

/* What a list like "1,0" leaves of `all`, up to its first token that names none. One that is named twice ends
 * the list, or is passed by. An empty list leaves all. */
static List chosen(const List *all, const char *text, bool twice_ends)
{
    List left = {.count = 0};
    if (!text || !*text)
        return *all;
    char *copy = strdup(text), *rest = copy;
    for (char *token; copy && (token = strsep(&rest, ","));) {
        int at = place_of_token(all, token);
        if (at < 0 || (twice_ends && holds(&left, all->of[at])))
            break;
        if (!holds(&left, all->of[at]))
            left.of[left.count++] = all->of[at];
    }
    free(copy);
    return left;
}

int visible_devices(int of_machine)
{
    const char *hip = getenv("HIP_VISIBLE_DEVICES");
    seen.count = of_machine;
    for (int k = 0; k < of_machine; k++)
        seen.of[k] = k;
    seen = chosen(&seen, getenv("ROCR_VISIBLE_DEVICES"), true);
    seen = chosen(&seen, hip && *hip ? hip : getenv("CUDA_VISIBLE_DEVICES"), false);
    return seen.count;
}

int machine_device(int ordinal) { return seen.of[ordinal]; }

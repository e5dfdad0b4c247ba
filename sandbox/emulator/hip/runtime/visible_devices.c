/*
 * Which of the machine's devices the process sees, and in which order: the environment decides.
 *
 * Sources: ROCm documentation, "GPU isolation techniques"; ROCR-Runtime 6.4, core/runtime/amd_filter_device.cpp
 * (ROCR_VISIBLE_DEVICES); clr 6.4, rocclr/device/rocm/rocdevice.cpp (HIP_VISIBLE_DEVICES, else CUDA_VISIBLE_DEVICES,
 * which number the devices that the first one has left).
 */
#include "hip/runtime/visible_devices.h"

#include "hip/runtime/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct { int of[MAX_DEVICES], count; } List;

static List visible; /* the machine's number of each device that the process sees */

hipUUID visible_devices_uuid(int number, const char *arch)
{
    hipUUID uuid = {0};
    snprintf(uuid.bytes, sizeof uuid.bytes, "emulated%d%s", number, arch);
    return uuid;
}

/* The index in `all` of the only device whose unique id begins with the token; -1: none, or several. */
static int by_uuid(const List *all, const char *token, const char *arch)
{
    int found = -1;
    for (int k = 0; k < all->count; k++) {
        hipUUID uuid = visible_devices_uuid(all->of[k], arch);
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
static int place_of_token(const List *all, const char *token, const char *arch)
{
    char *end;
    if (!strncasecmp(token, "GPU-", 4))
        return by_uuid(all, token + 4, arch);
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

/* The devices of `all` that a list like "1,0" names, up to the first token that names none. A device that is named
 * twice ends the list, or is skipped. An empty list names all. */
static List chosen(const List *all, const char *text, const char *arch, bool twice_ends)
{
    List left = {.count = 0};
    if (!text || !*text)
        return *all;
    char *copy = strdup(text), *rest = copy;
    for (char *token; copy && (token = strsep(&rest, ","));) {
        int at = place_of_token(all, token, arch);
        if (at < 0 || (twice_ends && holds(&left, all->of[at])))
            break;
        if (!holds(&left, all->of[at]))
            left.of[left.count++] = all->of[at];
    }
    free(copy);
    return left;
}

int visible_devices_find(int of_machine, const char *arch)
{
    const char *hip = getenv("HIP_VISIBLE_DEVICES");
    visible.count = of_machine;
    for (int k = 0; k < of_machine; k++)
        visible.of[k] = k;
    visible = chosen(&visible, getenv("ROCR_VISIBLE_DEVICES"), arch, true);
    visible = chosen(&visible, hip && *hip ? hip : getenv("CUDA_VISIBLE_DEVICES"), arch, false);
    return visible.count;
}

int visible_devices_number(int ordinal) { return visible.of[ordinal]; }
int visible_devices_bus(int ordinal) { return visible.of[ordinal] + 1; }

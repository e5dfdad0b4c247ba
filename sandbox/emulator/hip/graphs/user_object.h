/* Objects of the program that graphs keep alive. */
#ifndef AMDKERNEL_HIP_USER_OBJECT_H
#define AMDKERNEL_HIP_USER_OBJECT_H

#include "hip/runtime/runtime.h"

typedef struct UserObject UserObject;
typedef struct Retained {
    UserObject *object;
    u32 count;
    struct Retained *next;
} Retained;

/* Adds `count` references to what a graph retains: new ones, or the program's own. False: no memory. */
bool user_object_keep(Retained **list, UserObject *o, u32 count, bool new_references);
/* Releases up to `count` references; false: the graph has none. */
bool user_object_release(Retained **list, UserObject *o, u32 count);
/* Releases what a graph retained, and frees the list. */
void user_object_release_all(Retained *list);

#endif

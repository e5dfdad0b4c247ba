/* Objects of the program that graphs keep alive: destroyed with the last reference. */
#include "hip/graphs/user_object.h"

#include "hip/runtime/answer.h"

#include <stdlib.h>

struct UserObject {
    void *data;
    hipHostFn_t destroy;
    u32 references;
};

static void drop_references(UserObject *o, u32 count)
{
    o->references -= count < o->references ? count : o->references;
    if (o->references)
        return;
    o->destroy(o->data);
    free(o);
}

void user_object_release_all(Retained *list)
{
    while (list) {
        Retained *next = list->next;
        drop_references(list->object, list->count);
        free(list);
        list = next;
    }
}

hipError_t hipUserObjectCreate(hipUserObject_t *object, void *data, hipHostFn_t destroy, unsigned references,
                               unsigned flags)
{
    if (!object || !destroy || !references || references > INT32_MAX || flags != hipUserObjectNoDestructorSync)
        return answer(hipErrorInvalidValue);
    UserObject *o = malloc(sizeof *o);
    if (!o)
        return answer(hipErrorOutOfMemory);
    *o = (UserObject){data, destroy, references};
    *object = (hipUserObject_t)(void *)o;
    return hipSuccess;
}

hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count)
{
    if (!object || !count || count > INT32_MAX)
        return answer(hipErrorInvalidValue);
    drop_references((UserObject *)(void *)object, count);
    return hipSuccess;
}

hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count)
{
    if (!object || !count || count > INT32_MAX)
        return answer(hipErrorInvalidValue);
    ((UserObject *)(void *)object)->references += count;
    return hipSuccess;
}

bool user_object_keep(Retained **list, UserObject *o, u32 count, bool new_references)
{
    Retained *r = malloc(sizeof *r);
    if (!r)
        return false;
    *r = (Retained){o, count, *list};
    *list = r;
    if (new_references)
        o->references += count;
    return true;
}

bool user_object_release(Retained **list, UserObject *o, u32 count)
{
    for (Retained **link = list; *link; link = &(*link)->next) {
        Retained *r = *link;
        if (r->object != o)
            continue;
        u32 released = count < r->count ? count : r->count;
        r->count -= released;
        if (!r->count) {
            *link = r->next;
            free(r);
        }
        drop_references(o, released);
        return true;
    }
    return false;
}

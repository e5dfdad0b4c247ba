/* Objects of the program that graphs keep alive: destroyed with the last who holds them. */
#include "hip/graphs/graph.h"

#include <stdlib.h>


struct UserObject {
    void *data;
    hipHostFn_t destroy;
    u32 references;
};

static void let_go(UserObject *o, u32 count)
{
    o->references -= count < o->references ? count : o->references;
    if (o->references)
        return;
    o->destroy(o->data);
    free(o);
}

void user_objects_release(Retained *list)
{
    while (list) {
        Retained *next = list->next;
        let_go(list->object, list->count);
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
    let_go((UserObject *)(void *)object, count);
    return hipSuccess;
}

hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count)
{
    if (!object || !count || count > INT32_MAX)
        return answer(hipErrorInvalidValue);
    ((UserObject *)(void *)object)->references += count;
    return hipSuccess;
}

hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags)
{
    if (!graph || !object || !count || count > INT32_MAX || flags > hipGraphUserObjectMove)
        return answer(hipErrorInvalidValue);
    UserObject *o = (UserObject *)(void *)object;
    Retained *r = malloc(sizeof *r);
    if (!r)
        return answer(hipErrorOutOfMemory);
    *r = (Retained){o, count, graph->retained};
    graph->retained = r;
    if (flags != hipGraphUserObjectMove)
        o->references += count;
    return hipSuccess;
}

hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count)
{
    UserObject *o = (UserObject *)(void *)object;
    if (!graph || !object || !count)
        return answer(hipErrorInvalidValue);
    for (Retained **link = &graph->retained; *link; link = &(*link)->next) {
        Retained *r = *link;
        if (r->object != o)
            continue;
        u32 given = count < r->count ? count : r->count;
        r->count -= given;
        if (!r->count) {
            *link = r->next;
            free(r);
        }
        let_go(o, given);
        return hipSuccess;
    }
    return answer(hipErrorInvalidValue);
}

#include "run/peek.h"

#include <string.h>

#include "model/shifts.h"

enum {
    STEPS = 1024,          /* of a wave: the first turn of a loop over tiles */
    MOST_PLACES = 1 << 28, /* instructions times workgroups: a second or so */
};

typedef struct { WorkerThread *thread; Group *group; u64 number; } Peek;

/* The places of the workgroup, which starts here if it is another one than before. */
static bool first_address(void *context, u64 number, u32 inst, u64 *address)
{
    Peek *p = context;
    Worker *k = &p->thread->worker;
    Reach *places = l1_view_places(k->view);
    if (p->number != number) {
        memset(places, 0, k->dispatch->program->count * sizeof *places);
        wave_group_start(p->group, k, number);
        wave_peek(&p->group->waves[0], STEPS);
        l1_group_relieve(k->view, p->group->trace, k);
        p->number = number;
    }
    *address = places[inst].first;
    return places[inst].lanes != 0;
}

bool peek_shifts(Queue *q, Memory *m)
{
    WorkerThread c;
    Group g;
    if (q->subset->total * q->dispatch->program->count > MOST_PLACES)
        return false;
    bool made = worker_create(&c, m, q->dispatch, q) && c.worker.view && l1_view_note_places(c.worker.view, q->dispatch->program->count);
    bool found = false;
    if (made && wave_group_create(&g, &c.worker)) {
        Peek p = {.thread = &c, .group = &g, .number = ~0ull};
        found = shifts_find(q->subset, first_address, &p);
        wave_group_destroy(&g, q->dispatch);
    }
    worker_destroy(&c, q->dispatch);
    return found;
}

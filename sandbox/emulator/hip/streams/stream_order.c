/*
 * Vector clocks over streams. The known orders are:
 *  - the work of one stream is in the order of submission;
 *  - the null stream's work is ordered with that of blocking streams, before and after it;
 *  - work behind a wait for an event comes after all work before the event's record;
 *  - submitted work comes after everything that the host has waited for.
 */
#include "hip/streams/stream_order.h"

#include "hip/work/work_races.h"

#include <stdlib.h>
#include <string.h>

static u32 numbers;          /* of streams */
static StreamOrder host;     /* what the host knows to have ended */

static void join(StreamOrder *to, const StreamOrder *from)
{
    for (u32 k = 0; from && k < MOST_STREAMS; k++)
        to->known[k] = to->known[k] < from->known[k] ? from->known[k] : to->known[k];
}

static StreamOrder *clock_of(Stream *s)
{
    if (!s->order && numbers < MOST_STREAMS && (s->order = calloc(1, sizeof *s->order)))
        s->number = numbers++;
    if (!s->order)
        work_races_give_up();
    return s->order;
}

typedef struct { Stream *stream; StreamOrder *into; } Joining;

static void join_ordered(Stream *other, void *context)
{
    Joining *j = context;
    if (other != j->stream && stream_list_are_ordered(other, j->stream))
        join(j->into, other->order);
}

/* The clock of the stream, with everything that comes before its next work. */
static StreamOrder *bring_up(Stream *s)
{
    StreamOrder *mine = clock_of(s);
    if (!mine)
        return NULL;
    join(mine, &host);
    stream_list_each(join_ordered, &(Joining){s, mine});
    return mine;
}

Turn *stream_order_submit(Stream *s, WorkKind kind)
{
    if (kind == WORK_WAIT_VALUE || kind == WORK_WRITE_VALUE)
        work_races_give_up();
    bool touches = kind == WORK_KERNEL || kind == WORK_COPY || kind == WORK_COPY_2D_3D || kind == WORK_FILL || kind == WORK_FREE;
    StreamOrder *mine = work_races_are_followed() ? bring_up(s) : NULL;
    Turn *t = mine && touches ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    *t = (Turn){.stream = s->number, .count = ++mine->known[s->number]};
    memcpy(t->known, mine->known, sizeof t->known);
    return t;
}

StreamOrder *stream_order_record(Stream *s)
{
    StreamOrder *mine = work_races_are_followed() ? bring_up(s) : NULL, *copy = mine ? malloc(sizeof *copy) : NULL;
    if (copy)
        *copy = *mine;
    return copy;
}

void stream_order_wait(Stream *s, const StreamOrder *event)
{
    StreamOrder *mine = work_races_are_followed() ? clock_of(s) : NULL;
    if (mine)
        join(mine, event);
}

void stream_order_host_knows(Stream *s)
{
    StreamOrder *mine = work_races_are_followed() ? clock_of(s) : NULL;
    if (!mine)
        return;
    join(&host, mine);
    if (s->is_null)
        stream_list_each(join_ordered, &(Joining){s, &host});
}

void stream_order_host_knows_event(const StreamOrder *event) { join(&host, event); }

/* A host function may signal to the host's threads that what came before it is done. */
void stream_order_finish(Stream *s, WorkKind kind, Turn *t)
{
    if (t && t->talks)
        work_races_give_up();
    if (kind == WORK_HOST || kind == WORK_CALLBACK)
        stream_order_host_knows(s);
    free(t);
}

void stream_order_forget(Stream *s)
{
    if (s->order)
        join(&host, s->order); /* no call can name it any more */
    free(s->order);
    s->order = NULL;
}

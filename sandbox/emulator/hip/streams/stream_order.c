/*
 * Vector clocks over streams. A stream's work comes in its order; the null stream's after and before that of blocking
 * streams; work behind a wait for an event after what its record had before it; and what is submitted comes after all
 * that the host has waited for. Where work gives signs in other ways (values in memory that streams wait for, memory
 * that the host sees) nothing more is looked for, for such an order cannot be known.
 */
#include "hip/streams/stream_order.h"

#include "hip/memory/allocation.h"
#include "hip/devices/device.h"
#include "hip/streams/queue.h"

#include <stdlib.h>
#include <string.h>

static Overlap *overlap;     /* NULL: there is one stream, or races are not looked for */
static bool given_up;        /* an order came by signs */
static u32 numbers;          /* of streams */
static Ordered host;         /* what it knows to have ended */
static WorkLabel *labels;
static _Thread_local Turn *present;

void order_begin(void)
{
    runtime_lock();
    if (!overlap && runtime()->options.check_races)
        overlap = overlap_create(runtime()->memory);
    runtime_unlock();
}

static bool followed(void) { return overlap && !given_up; }

static void join(Ordered *to, const Ordered *from)
{
    for (u32 k = 0; from && k < MOST_STREAMS; k++)
        to->known[k] = to->known[k] < from->known[k] ? from->known[k] : to->known[k];
}

static Ordered *order_of(Stream *s)
{
    if (!s->order && numbers < MOST_STREAMS && (s->order = calloc(1, sizeof *s->order)))
        s->number = numbers++;
    given_up |= !s->order;
    return s->order;
}

typedef struct { Stream *stream; Ordered *into; } Joining;

static void join_ordered(Stream *other, void *context)
{
    Joining *j = context;
    if (other != j->stream && queue_are_ordered(other, j->stream))
        join(j->into, other->order);
}

/* All that comes before the next work of the stream. */
static Ordered *bring_up(Stream *s)
{
    Ordered *mine = order_of(s);
    if (!mine)
        return NULL;
    join(mine, &host);
    stream_each_locked(join_ordered, &(Joining){s, mine});
    return mine;
}

Turn *order_submit(Stream *s, WorkKind kind)
{
    given_up |= overlap && (kind == WORK_WAIT_VALUE || kind == WORK_WRITE_VALUE);
    bool touches = kind == WORK_KERNEL || kind == WORK_COPY || kind == WORK_COPY_RECT || kind == WORK_FILL || kind == WORK_FREE;
    Ordered *mine = followed() ? bring_up(s) : NULL;
    Turn *t = mine && touches ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    *t = (Turn){.stream = s->number, .count = ++mine->known[s->number]};
    memcpy(t->known, mine->known, sizeof t->known);
    return t;
}

Ordered *order_record(Stream *s)
{
    Ordered *mine = followed() ? bring_up(s) : NULL, *copy = mine ? malloc(sizeof *copy) : NULL;
    if (copy)
        *copy = *mine;
    return copy;
}

void order_wait(Stream *s, const Ordered *event)
{
    Ordered *mine = followed() ? order_of(s) : NULL;
    if (mine)
        join(mine, event);
}

void order_host_knows(Stream *s)
{
    Ordered *mine = followed() ? order_of(s) : NULL;
    if (!mine)
        return;
    join(&host, mine);
    if (s->is_null)
        stream_each_locked(join_ordered, &(Joining){s, &host});
}

void order_host_knows_event(const Ordered *event) { join(&host, event); }

void order_call_returns(hipStream_t stream)
{
    Stream *s = stream_find(stream);
    if (!s || !followed())
        return;
    queue_lock();
    order_host_knows(s);
    queue_unlock();
}

/* A host function may tell the host's threads of what came before it. */
void order_finish(Stream *s, WorkKind kind, Turn *t)
{
    given_up |= t && t->talks;
    if (kind == WORK_HOST || kind == WORK_CALLBACK)
        order_host_knows(s);
    free(t);
}

void order_forget_stream(Stream *s)
{
    if (s->order)
        join(&host, s->order); /* nobody can name it any more */
    free(s->order);
    s->order = NULL;
}

/* ---- the work itself ---- */

void order_now(Turn *t) { present = t; }

static const WorkLabel *label_of(const char *name, CodeObject *object)
{
    runtime_lock();
    WorkLabel *l = labels;
    while (l && (l->object != object || strcmp(l->name, name) != 0))
        l = l->next;
    if (!l && (l = calloc(1, sizeof *l))) {
        *l = (WorkLabel){.name = strdup(name), .object = object, .object_number = object ? object->number : 0, .next = labels};
        labels = l;
    }
    runtime_unlock();
    return l && l->name ? l : NULL;
}

/* Pinned and managed memory, in which kernels may leave signs for the host. */
static bool host_sees(u64 address)
{
    Allocation a;
    return allocation_find((const void *)(uintptr_t)address, &a) && a.kind != ALLOCATION_DEVICE;
}

void order_dispatch(const Function *f, Dispatch *d)
{
    const WorkLabel *label = present && followed() ? label_of(f->kernel->name, f->object) : NULL;
    if (!label)
        return;
    present->host_sees = host_sees;
    overlap_begin(overlap, present, label);
    d->overlap = overlap;
    d->turn = present;
    d->code_base = f->object->base;
}

void order_touch(const char *what, const void *memory, u64 bytes, bool store)
{
    Overlapping other;
    u64 address = (u64)(uintptr_t)memory;
    const WorkLabel *label = present && followed() ? label_of(what, NULL) : NULL;
    if (!label)
        return;
    if (!present->id)
        overlap_begin(overlap, present, label);
    if (overlap_touch(overlap, present, address, bytes, (Touching){.load = !store, .store = store}, 0, &other))
        report_call(what, strcmp(what, "release") == 0 ? "use_after_free" : "race", address, bytes, store, &other);
}

void order_forget_memory(const void *memory, u64 bytes)
{
    if (overlap)
        overlap_forget(overlap, (u64)(uintptr_t)memory, bytes);
}

void order_forget_object(const CodeObject *c)
{
    runtime_lock();
    for (WorkLabel *l = labels; l; l = l->next)
        if (l->object == c)
            l->object = NULL;
    runtime_unlock();
}

/*
 * Races between work of different streams. checks/races/overlap.c records which work touched which memory, and
 * streams/stream_order.c writes into each work's turn what comes before it. If work is also ordered by signals (values in
 * memory that streams wait for, memory that the host sees), the order is unknown, and no more races are reported.
 */
#include "hip/work/work_races.h"

#include "hip/memory/allocation.h"
#include "hip/report/call_report.h"
#include "hip/report/work_label.h"

#include <stdlib.h>
#include <string.h>

static Overlap *overlap;     /* NULL: there is one stream, or races are not checked */
static bool given_up;
static WorkLabel *labels;
static _Thread_local Turn *present;

static void block_ended(u64 address, u64 bytes) { overlap_forget(overlap, address, bytes); }

void work_races_begin(void)
{
    runtime_lock();
    if (!overlap && runtime()->options.check_races && (overlap = overlap_create(runtime()->memory)))
        allocation_on_end(block_ended);
    runtime_unlock();
}

bool work_races_are_followed(void) { return overlap && !given_up; }
void work_races_give_up(void) { given_up = true; }

void work_races_now(Turn *t) { present = t; }

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

/* Pinned and managed memory: kernels can signal to the host through it. */
static bool host_sees(u64 address)
{
    Allocation a;
    return allocation_find((const void *)(uintptr_t)address, &a) && a.kind != ALLOCATION_DEVICE;
}

void work_races_dispatch(const Function *f, Dispatch *d)
{
    const WorkLabel *label = present && work_races_are_followed() ? label_of(f->kernel->name, f->object) : NULL;
    if (!label)
        return;
    present->host_sees = host_sees;
    overlap_begin(overlap, present, label);
    d->overlap = overlap;
    d->turn = present;
    d->code_base = f->object->base;
}

void work_races_touch(const char *what, const void *memory, u64 bytes, bool store)
{
    Overlapping other;
    u64 address = (u64)(uintptr_t)memory;
    const WorkLabel *label = present && work_races_are_followed() ? label_of(what, NULL) : NULL;
    if (!label)
        return;
    if (!present->id)
        overlap_begin(overlap, present, label);
    if (overlap_touch(overlap, present, address, bytes, (Touching){.load = !store, .store = store}, 0, &other))
        report_call(what, strcmp(what, "release") == 0 ? "use_after_free" : "race", address, bytes, store, &other);
}

void work_races_forget_object(const CodeObject *c)
{
    runtime_lock();
    for (WorkLabel *l = labels; l; l = l->next)
        if (l->object == c)
            l->object = NULL;
    runtime_unlock();
}

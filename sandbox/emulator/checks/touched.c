/*
 * A run may pass values from launch to launch through static memory, but what a run computes must not depend on earlier
 * runs. A value that is what it was at first again, as that of a counter that is reset, is right.
 */
#include "checks/touched.h"

#include "checks/extent.h"
#include "checks/findings.h"

enum { AT_ONCE = 4096 }; /* bytes that are noted as one range */

static void note(Memory *m, const u64 *address, u64 active, u32 bytes, Extent e, bool store)
{
    bool near = e.high - e.low <= AT_ONCE;
    if (near && memory_all_touched(m, e.low, e.high - e.low, store))
        return;
    if (e.side_by_side) {
        memory_touch(m, e.low, e.high - e.low, store);
        return;
    }
    memory_touch_lanes(m, address, active, bytes, store);
}

void touched_note(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    if (!active)
        return;
    Extent e = extent_of(address, active, bytes);
    note(w->worker->memory, address, active, bytes, e, store);
    if (store && i->row->detail[2] == ACCESS_ATOMIC)
        note(w->worker->memory, address, active, bytes, e, false);
}

void touched_note_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    (void)i;
    memory_touch(w->worker->memory, address, bytes, false);
}

/* ---- static memory ---- */

/* An exchange that does not return the old value overwrites it, as a store does. */
static bool reads(const Inst *i, bool store)
{
    if (!store)
        return true;
    bool returns = i->row->family == FAMILY_BUFFER ? i->sc0 : i->dst != 0xffff;
    return i->row->detail[2] == ACCESS_ATOMIC && (returns || i->row->detail[1] != ATOMIC_SWAP);
}

static void check_lane(Wave *w, const Inst *i, AddressSpace space, u32 lane, u64 address, u32 bytes)
{
    if (!memory_from_earlier_run(w->worker->memory, address, bytes))
        return;
    Fault f = findings_place(w, i, OUTCOME_STATE_BETWEEN_LAUNCHES, space, lane, address, bytes, false);
    findings_report(w, &f, NULL);
}

void touched_check_variables(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    Memory *m = w->worker->memory;
    if (!active || !memory_any_variables(m))
        return;
    Extent e = extent_of(address, active, bytes);
    if (!memory_has_variables(m, e.low, e.high))
        return;
    for (u32 l = 0; l < LANES; l++) {
        if (!(active >> l & 1))
            continue;
        if (reads(i, store))
            check_lane(w, i, SPACE_GLOBAL, l, address[l], bytes);
        if (store)
            memory_stores_variable(m, address[l], bytes);
    }
}

void touched_check_variable(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    if (memory_has_variables(w->worker->memory, address, address + bytes))
        check_lane(w, i, SPACE_SCALAR, 0, address, bytes);
}

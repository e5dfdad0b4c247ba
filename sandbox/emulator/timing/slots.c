#include "timing/slots.h"

void slots_lost(Account *a, u64 now, Slot why)
{
    if (now <= a->until)
        return;
    a->of.clocks[why] += now - a->until;
    a->until = now;
}

void slots_issued(Account *a, u64 now, u32 slot, Slot what)
{
    if (now + slot <= a->until)
        return;
    a->of.clocks[what] += now + slot - a->until;
    a->until = now + slot;
}

Slot slots_cause(const Waited *last, u64 now)
{
    u32 most = 0;
    for (u32 k = 1; k < SLOTS; k++)
        most = last->clocks[k] > last->clocks[most] ? k : most;
    return 4 * last->clocks[most] > now - last->since ? (Slot)most : WAIT_BARRIER;
}

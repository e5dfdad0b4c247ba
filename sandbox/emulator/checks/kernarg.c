/*
 * Arguments of a kernel that are read beyond their end. Behind them lie the hidden ones, which kernels read as well, so
 * that bounds alone do not find the mistake. But an instruction that reads an argument must not read a hidden one.
 */
#include "checks/kernarg.h"

#include "checks/shadow.h"

static bool is_argument(const Dispatch *d, u64 address) { return address - d->kernarg < d->kernarg_bytes; }
static bool is_hidden(const Dispatch *d, u64 address)
{
    return is_argument(d, address) && address - d->kernarg >= d->explicit_bytes;
}

void kernarg_check(Wave *w, const Inst *i, AddressSpace space, const u64 *address, u64 active, u32 bytes)
{
    const Dispatch *d = w->worker->dispatch;
    if (!d->explicit_bytes || !active || !is_argument(d, address[__builtin_ctzll(active)]))
        return;
    u8 *reads = &w->worker->checks->reads_arguments[instruction_number(w, i)];
    for (u32 l = 0; l < LANES; l++)
        *reads |= active >> l & 1 && is_argument(d, address[l]) && !is_hidden(d, address[l]);
    for (u32 l = 0; *reads && l < LANES; l++)
        if (active >> l & 1 && is_hidden(d, address[l])) {
            Fault f = findings_place(w, i, OUTCOME_OUT_OF_BOUNDS, space, l, address[l], bytes, false);
            findings_report(w, &f, NULL);
            return;
        }
}

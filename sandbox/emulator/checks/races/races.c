/*
 * Who touched which dword last, and whether it is known to have happened before.
 *
 * For each dword: the last stores to its parts, or an atomic and the plain store before it, and two reads since, the
 * second one by another wave; so a store is compared with at least one read of another wave. Not checked: scratch,
 * inputs, to which no kernel stores, and the heap of malloc in kernels.
 */
#include "checks/races/races.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "checks/races/coherence.h"
#include "checks/races/happens_before.h"
#include "machine/lanes.h"
#include "memory/arena.h"
#include "run/kernel_code.h"

enum {
    PAGE_BYTES = 4096, CELLS = PAGE_BYTES / 4,
    MOST_PAGES = 8192,     /* 32 MiB of shared memory, whose cells take sixteen times as much */
    MOST_BUCKETS = 1024, MOST_PLACES = 4096,
};

/* Sizes, as bits, of the atomic and volatile loads of a kernel: unmarked stores of that size may be atomic. A kernel ends
 * after the last branch target; a kernel that calls functions counts as the whole program. */
static u32 signal_sizes(const Program *p, const Annotation *annotations, u64 entry)
{
    u32 first = p->index_of[(entry - p->address) / 4], last = first, sizes = 0;
    bool calls = false;
    for (u32 k = first; k < p->count && k <= last; k++) {
        const char *name = p->code[k].row->mnemonic;
        calls |= !strncmp(name, "s_swappc", 8) || !strncmp(name, "s_setpc", 7);
        if (p->code[k].row->family == FAMILY_BRANCH && p->code[k].target < p->count && p->code[k].target > last)
            last = p->code[k].target;
        if (k == last && strncmp(name, "s_endpgm", 8))
            last++;
    }
    for (u32 k = calls ? 0 : first; k < p->count && (calls || k <= last); k++)
        if (annotations[k].sync & SYNC_ACCESS && p->code[k].row->detail[2] == ACCESS_LOAD)
            sizes |= p->code[k].row->bytes;
    return sizes;
}

Races *races_create(Memory *m, const Dispatch *d, const Annotation *annotations)
{
    Races *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    u64 groups = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    r->memory = m;
    r->heap = d->heap;
    r->heap_bytes = d->heap_bytes;
    memory_arena(m, &r->base, &r->bytes);
    r->page_count = r->bytes / PAGE_BYTES + 1;
    r->waves_per_group = kernel_group_waves(d);
    u64 waves = groups * r->waves_per_group;
    r->buckets = waves < MOST_BUCKETS ? (u32)waves : MOST_BUCKETS;
    void *pages = mmap(NULL, r->page_count * sizeof *r->pages, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    r->pages = pages == MAP_FAILED ? NULL : pages;
    r->sync = happens_before_table_create(MOST_PLACES);
    r->annotations = annotations;
    r->waits_release = coherence_of(d->program->arch) != COHERENCE_SC;
    r->signal_sizes = signal_sizes(d->program, annotations, d->kernel.entry);
    if (r->pages && r->sync)
        return r;
    races_destroy(r);
    return NULL;
}

void races_destroy(Races *r)
{
    if (!r)
        return;
    for (u64 k = 0; r->pages && r->made && k < r->page_count; k++)
        if (r->pages[k]) {
            free(r->pages[k]);
            r->made--;
        }
    if (r->pages)
        munmap(r->pages, r->page_count * sizeof *r->pages);
    happens_before_table_destroy(r->sync);
    free(r);
}

bool races_in_part(const Races *r) { return r && r->in_part; }

/* ---- telling ---- */

static u64 caller_address(const Program *p, u32 caller) { return caller < p->count ? p->address + p->offset_of[caller] : 0; }

static Partner partner_of(const Wave *w, const Races *r, const Entry *e)
{
    const u32 *groups = w->worker->dispatch->workgroups;
    u32 group = e->wave / r->waves_per_group;
    return (Partner){
        .pc = w->program->address + w->program->offset_of[e->inst],
        .workgroup = {group % groups[0], group / groups[0] % groups[1], group / groups[0] / groups[1]},
        .wave = e->wave % r->waves_per_group, .lane = e->lane, .caller = caller_address(w->program, e->caller),
        .load = e->how & BY_LOAD, .store = e->how & BY_STORE, .atomic = e->how & BY_SIGNAL};
}

/* Compilers move loads to places without a line number; the use of the value still has one. */
static void tell_use(const Wave *w, Finding *found)
{
    const Program *p = w->program;
    u32 use = annotations_first_use(p, w->worker->checks->annotations, p->index_of[(found->fault.pc - p->address) / 4]);
    if (use == p->count)
        return;
    found->use = p->address + p->offset_of[use];
    memcpy(found->use_callers, found->fault.callers, sizeof found->use_callers);
}

/* A race is reported at its read, if it has one, with the store as its partner. */
static void tell(Wave *w, const Fault *here, u8 how, const Entry *other)
{
    Fault f = *here;
    Partner p = partner_of(w, w->worker->checks->races, other);
    if (f.store && !p.store) {
        Partner store = {.pc = f.pc, .wave = f.wave, .lane = f.lane, .load = how & BY_LOAD, .store = true,
                         .atomic = how & BY_SIGNAL, .caller = f.callers[0]};
        for (u32 k = 0; k < CALLERS && f.callers[k]; k++)
            store.caller = f.callers[k];
        memcpy(store.workgroup, f.workgroup, sizeof store.workgroup);
        f.pc = p.pc;
        f.wave = p.wave;
        f.lane = p.lane;
        f.store = false;
        memset(f.callers, 0, sizeof f.callers);
        f.callers[0] = p.caller;
        memcpy(f.workgroup, p.workgroup, sizeof f.workgroup);
        p = store;
    }
    Finding *found = findings_at(w->worker, OUTCOME_RACE, f.pc, p.pc);
    if (found && found->count == 1) {
        found->fault = f;
        found->partner = p;
        if (!f.store)
            tell_use(w, found);
    }
}

/* ---- one access ---- */

/* What all lanes of an access have in common. */
typedef struct {
    Wave *w;
    const Inst *i;
    Races *r;
    AddressSpace space;
    Entry entry;
    u16 sync;
    u32 bytes, began;
    SyncTable *table;
    bool signals;      /* or may: others can learn from it */
} Act;

/* The instruction of the kernel itself that called what runs now. */
static u32 outermost_call(const Wave *w)
{
    const Program *p = w->program;
    u64 offset = w->call_depth ? w->calls[0] - 4 - p->address : p->bytes;
    return offset < p->bytes ? p->index_of[offset / 4] & NO_CALLER : NO_CALLER;
}

/* In LDS atomic loads and stores look like plain ones, unless they use a flat address; volatile ones are not atomics there. */
static u16 sync_in_lds(const Inst *i, u16 sync, bool store)
{
    if (i->row->family != FAMILY_FLAT || i->row->detail[2] == ACCESS_ATOMIC)
        return (u16)(sync & ~(SYNC_GROUP | SYNC_NEAR));
    if (sync & SYNC_ACCESS && !(sync & SYNC_SYSTEM))
        return SYNC_ACCESS;
    return store ? SYNC_BUFFERED : sync & SYNC_POLL ? SYNC_ACCESS : 0;
}

static Act act_of(Wave *w, const Inst *i, AddressSpace space, u32 bytes, bool store)
{
    Races *r = w->worker->checks->races;
    const HappensBefore *o = &shadow_of(w)->happens_before;
    u64 at = (u64)(i - w->program->code) <= w->program->count ? (u64)(i - w->program->code) : (u64)(w->at - w->program->code);
    bool lds = space == SPACE_LDS;
    Act a = {.w = w, .i = i, .r = r, .space = space, .sync = r->annotations[at].sync, .bytes = bytes,
             .began = lds ? w->shadow->began : 0, .table = lds ? w->shadow->lds_sync : r->sync};
    if (lds)
        a.sync = sync_in_lds(i, a.sync, store);
    bool atomic = store && i->row->detail[2] == ACCESS_ATOMIC;
    a.entry = (Entry){.time = o->stamp, .wave = happens_before_wave(r, w), .inst = (u32)at & NO_CALLER,
                      .caller = outermost_call(w)};
    a.entry.how = atomic ? BY_LOAD | BY_STORE : store ? BY_STORE : BY_LOAD;
    if (a.sync & SYNC_ACCESS) {
        bool habit = a.sync & SYNC_COMPARES || (a.sync & SYNC_EXTREME && !lds);
        a.entry.how |= BY_SIGNAL | (habit ? BY_HABIT : 0) | (a.sync & SYNC_GROUP ? BY_GROUP : 0);
    } else if (a.sync & SYNC_BUFFERED) {
        a.entry.how |= MAY_SIGNAL;
    }
    return a;
}

static bool is_near(const Act *a) { return a->sync & (SYNC_NEAR | SYNC_GROUP); }

static bool harmless(u8 a, u8 b, bool same_group)
{
    if (!((a | b) & BY_STORE) || (a & b & BY_SIGNAL && (same_group || !((a | b) & BY_GROUP))))
        return true;
    bool plain_load = (a & (BY_LOAD | BY_STORE | BY_SIGNAL)) == BY_LOAD ||
                      (b & (BY_LOAD | BY_STORE | BY_SIGNAL)) == BY_LOAD;
    return plain_load && (a | b) & BY_HABIT;
}

/* Probably two flags: each is stored by one lane, in a kernel that loads values of this size atomically. */
static bool both_may_be_flags(const Act *a, const Entry *now, const Entry *other)
{
    return now->how & other->how & MAY_SIGNAL && now->published && other->published && a->bytes & a->r->signal_sizes;
}

static bool is_store(u8 how) { return (how & (BY_LOAD | BY_STORE)) == BY_STORE; }

static void conflict(const Act *a, const Entry *now, u64 address, const Entry *other)
{
    Races *r = a->r;
    bool polls = (now->how & (BY_LOAD | BY_STORE | BY_SIGNAL)) == (BY_LOAD | BY_SIGNAL);
    if (polls && other->how & MAY_SIGNAL) {
        if (!other->published)
            happens_before_learn_from(r, a->w, other, is_near(a));
        return;
    }
    if (both_may_be_flags(a, now, other))
        return;
    Fault f = findings_place(a->w, a->i, OUTCOME_RACE, a->space, now->lane, address, a->bytes, now->how & BY_STORE);
    if (!is_store(now->how) || !is_store(other->how)) {
        tell(a->w, &f, now->how, other);
    } else if (r->pending_count < MAX_PENDING) {
        PendingStore *p = &r->pending[r->pending_count++];
        u64 dword = address & ~3ull;
        *p = (PendingStore){.other = *other, .fault = f, .mask = now->mask & other->mask,
                            .at = a->space == SPACE_LDS ? a->w->lds + dword : (u8 *)dword};
        for (int b = 0; b < 4; b++)
            p->before[b] = p->mask >> b & 1 ? p->at[b] : 0;
    }
}

static void keep_read(const Act *a, Cell *c, const Entry *now)
{
    for (int k = 0; k < 2; k++)
        if (c->read[k].time && c->read[k].wave == now->wave) {
            u32 mask = c->read[k].time == now->time ? c->read[k].mask : 0;
            c->read[k] = *now;
            c->read[k].mask |= mask;
            return;
        }
    bool first = happens_before_knows(a->r, a->w, &c->read[0], a->began);
    c->read[first ? 0 : 1] = *now;
}

/* An atomic does not replace the record of a plain store: waves that do not know of that store still race with it. */
static void keep_store(Cell *c, const Entry *now)
{
    Entry *first = &c->write[0], *second = &c->write[1];
    bool signal = now->how & BY_SIGNAL;
    if (signal && first->mask & now->mask && !(first->how & BY_SIGNAL))
        *second = *first;
    else if (first->mask & ~now->mask && !(first->wave == now->wave && first->time == now->time))
        *second = *first; /* other bytes of the dword */
    else if (!signal && !(second->mask & ~now->mask))
        *second = (Entry){0};
    u32 mask = first->time == now->time && first->wave == now->wave ? first->mask : 0;
    *first = *now;
    first->mask |= mask;
    if (!signal)
        second->mask &= ~first->mask;
    for (int k = 0; k < 2; k++)
        if (!(c->read[k].mask & ~now->mask))
            c->read[k] = (Entry){0};
}

static inline bool meets(const Act *a, const Entry *now, const Entry *other)
{
    bool own_group = other->wave / a->r->waves_per_group == now->wave / a->r->waves_per_group;
    return other->time > a->began && other->wave != now->wave && other->mask & now->mask &&
           (own_group || !a->r->own_group_only) && !harmless(now->how, other->how, own_group) &&
           !happens_before_knows(a->r, a->w, other, a->began);
}

static void touch(const Act *a, Cell *c, const Entry *now, u64 address)
{
    for (int k = 0; k < 2; k++)
        if (meets(a, now, &c->write[k]))
            conflict(a, now, address, &c->write[k]);
    if (now->how & BY_STORE) {
        for (int k = 0; k < 2; k++)
            if (meets(a, now, &c->read[k]))
                conflict(a, now, address, &c->read[k]);
        keep_store(c, now);
    } else if (!(now->how & BY_SIGNAL)) {
        keep_read(a, c, now);
    }
}

static Cell *global_cell(Races *r, u64 address)
{
    u64 offset = address - r->base, page = offset / PAGE_BYTES;
    if (offset >= r->bytes || address - r->heap < r->heap_bytes)
        return NULL;
    if (!r->pages[page]) {
        r->in_part |= r->made >= MOST_PAGES;
        if (r->made >= MOST_PAGES || !(r->pages[page] = calloc(CELLS, sizeof(Cell))))
            return NULL;
        r->made++;
    }
    return &r->pages[page][offset % PAGE_BYTES / 4];
}

static void touch_lane(Act *a, u32 lane, u64 address)
{
    bool loads = a->entry.how & BY_LOAD, signals = a->sync & SYNC_ACCESS;
    if (signals && loads && (!(a->entry.how & BY_STORE) || a->sync & SYNC_RETURNS))
        happens_before_learn(a->r, a->w, a->table, address, is_near(a));
    for (u64 dword = address & ~3ull; dword < address + a->bytes; dword += 4) {
        Cell *c = a->space == SPACE_LDS ? &a->w->shadow->lds_cells[dword / 4] : global_cell(a->r, dword);
        Entry now = a->entry;
        u32 from = dword < address ? (u32)(address - dword) : 0;
        u64 left = address + a->bytes - dword;
        now.mask = (u8)((left < 4 ? (1u << left) - 1 : 15u) & (15u << from));
        now.lane = (u8)lane;
        if (c)
            touch(a, c, &now, dword < address ? address : dword);
    }
    if (a->signals && a->entry.how & BY_STORE)
        happens_before_publish(a->r, a->w, a->table, address, !(a->sync & SYNC_GROUP));
}

/* Where atomic stores are not marked, a store by a single lane may be a flag. */
static bool may_be_a_flag(const Act *a, u64 active)
{
    return a->sync & SYNC_BUFFERED && a->space == SPACE_GLOBAL && !(active & (active - 1));
}

/* ---- other work, which may run at the same time ---- */

static void tell_of_work(Wave *w, const Fault *f, const Overlapping *other)
{
    Finding *found = findings_at(w->worker, OUTCOME_RACE, f->pc, (u64)(uintptr_t)other->label + other->code);
    if (!found || found->count > 1)
        return;
    found->fault = *f;
    found->partner = (Partner){.pc = (u64)(uintptr_t)other->label + other->code, .load = other->load,
                               .store = other->store, .work = other->label};
    if (!f->store)
        tell_use(w, found);
}

static void look_at_work(const Act *a, const u64 *address, u64 active)
{
    const Dispatch *d = a->w->worker->dispatch;
    const Program *p = a->w->program;
    u64 code = p->address + p->offset_of[a->entry.inst] - d->code_base;
    const Touching how = {.load = a->entry.how & BY_LOAD, .store = a->entry.how & BY_STORE,
                          .signal = a->entry.how & BY_SIGNAL || may_be_a_flag(a, active),
                          .learns = a->entry.how & BY_SIGNAL && a->entry.how & BY_LOAD &&
                                    (!(a->entry.how & BY_STORE) || a->sync & SYNC_RETURNS)};
    u64 record = d->kernarg - d->dispatch_packet + d->kernarg_bytes; /* the launch's own, which the next one gets */
    for (u32 l = 0; l < LANES; l++) {
        Overlapping other;
        if (!(active >> l & 1) || address[l] - a->r->heap < a->r->heap_bytes || address[l] - d->dispatch_packet < record ||
            !overlap_touch(d->overlap, d->turn, address[l], a->bytes, how, code, &other))
            continue;
        Fault f = findings_place(a->w, a->i, OUTCOME_RACE, a->space, l, address[l], a->bytes, how.store);
        if (how.load || other.load || a->r->pending_count == MAX_PENDING) {
            tell_of_work(a->w, &f, &other);
            continue;
        }
        PendingStore *s = &a->r->pending[a->r->pending_count++];
        u64 dword = address[l] & ~3ull;
        *s = (PendingStore){.work = other, .fault = f, .at = (u8 *)dword, .mask = 15};
        memcpy(s->before, s->at, sizeof s->before);
    }
}

static void touch_all(Act *a, const u64 *address, u64 active)
{
    a->signals = a->sync & SYNC_ACCESS || may_be_a_flag(a, active);
    a->entry.published = a->signals;
    HappensBefore *o = &shadow_of(a->w)->happens_before;
    if (a->signals && a->entry.how & BY_STORE)
        happens_before_release_idle(a->r, o);
    a->entry.time = o->stamp;
    u32 released = o->before_signals;
    if (a->signals && a->entry.how & BY_STORE && released) /* a wave that acquires the release knows the signal as well */
        a->entry.time = released;
    for (u32 l = 0; l < LANES; l++)
        if (active >> l & 1)
            touch_lane(a, l, address[l]);
    if (a->signals && a->entry.how & BY_STORE)
        happens_before_new_epoch(a->r, a->w);
}

void races_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    Races *r = w->worker->checks->races;
    Span span;
    if (!active)
        return;
    u32 first = (u32)__builtin_ctzll(active);
    bool input = memory_span(w->worker->memory, address[first], bytes, &span) && span.input;
    for (int l = 0; input && l < LANES; l++)
        input = !(active >> l & 1) || (address[l] >= span.low && address[l] + bytes <= span.high);
    if (input && !store)
        return;
    Act a = act_of(w, i, SPACE_GLOBAL, bytes, store);
    touch_all(&a, address, active);
    if (store && !(a.sync & (SYNC_RETURNS | SYNC_ACCESS))) /* a signal that is on its way needs no release */
        shadow_of(w)->happens_before.stores_pending = true;
    if (w->worker->dispatch->turn)
        look_at_work(&a, address, active);
    if (is_store(a.entry.how) && !(a.sync & SYNC_ACCESS) && i->row->detail[2] == ACCESS_STORE) {
        memcpy(r->stored, address, sizeof r->stored);
        r->stored_lanes = active;
        r->stored_bytes = bytes;
        r->stored_from = i->source[2];
    }
}

void races_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    u64 address[LANES];
    for (int l = 0; l < LANES; l++)
        address[l] = active >> l & 1 ? offset[l] : 0;
    Act a = act_of(w, i, SPACE_LDS, bytes, store);
    touch_all(&a, address, active);
}

void races_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    const Dispatch *d = w->worker->dispatch;
    Span span;
    if (address - d->dispatch_packet < d->kernarg - d->dispatch_packet + d->kernarg_bytes ||
        (memory_span(w->worker->memory, address, bytes, &span) && (span.input || !span.writable)))
        return;
    Act a = act_of(w, i, SPACE_SCALAR, bytes, false);
    touch_lane(&a, 0, address);
    if (d->turn)
        look_at_work(&a, &address, 1);
}

/* ---- after an instruction ---- */

/* Lanes of a store whose value was overwritten by another lane of the same store. */
static void lost_values(Wave *w, const Inst *i, Races *r)
{
    u16 reg = r->stored_from;
    bool high = r->stored_bytes < 4 && i->row->detail[1];
    for (u32 l = 0; reg >= FIRST_VGPR && l < LANES; l++) {
        if (!(r->stored_lanes >> l & 1))
            continue;
        for (u32 k = 0; 4 * k < r->stored_bytes; k++) {
            u32 value = vector(w, reg + k)[l] >> (high ? 16 : 0), size = r->stored_bytes < 4 ? r->stored_bytes : 4;
            if (!memcmp(&value, (const u8 *)r->stored[l] + 4 * k, size))
                continue;
            u32 winner = LANES;
            for (u32 n = 0; n < LANES; n++)
                if (n != l && r->stored_lanes >> n & 1 && r->stored[n] < r->stored[l] + r->stored_bytes &&
                    r->stored[l] < r->stored[n] + r->stored_bytes)
                    winner = n;
            if (winner == LANES)
                continue;
            Act a = act_of(w, i, SPACE_GLOBAL, r->stored_bytes, true);
            a.entry.lane = (u8)winner;
            Fault f = findings_place(w, i, OUTCOME_RACE, SPACE_GLOBAL, l, r->stored[l], r->stored_bytes, true);
            tell(w, &f, a.entry.how, &a.entry);
            return;
        }
    }
}

void races_after(Wave *w, const Inst *i)
{
    Races *r = w->worker->checks->races;
    for (u32 k = 0; k < r->pending_count; k++) {
        PendingStore *p = &r->pending[k];
        bool changed = false;
        for (int b = 0; b < 4; b++)
            changed |= p->mask >> b & 1 && p->at[b] != p->before[b];
        if (changed && p->work.label)
            tell_of_work(w, &p->fault, &p->work);
        else if (changed)
            tell(w, &p->fault, BY_STORE, &p->other);
    }
    r->pending_count = 0;
    if (r->stored_lanes && w->stop != STOP_FAULT)
        lost_values(w, i, r);
    r->stored_lanes = 0;
    u16 sync = r->annotations[i - w->program->code].sync;
    if (sync & (SYNC_RELEASE | SYNC_WEAK) && !(sync & SYNC_CHANCE))
        shadow_of(w)->happens_before.before_signals = shadow_of(w)->happens_before.stamp;
    if (sync & (SYNC_RELEASE | SYNC_WEAK))
        happens_before_release(r, w, sync & SYNC_RELEASE ? DEFINITE : POSSIBLE);
    if (sync & SYNC_ACQUIRE)
        happens_before_acquire(r, w);
}

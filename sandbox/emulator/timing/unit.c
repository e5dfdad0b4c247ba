/*
 * Waves issue in order, and when one issues all that its next instruction waits for is known: so the clock from which that
 * may issue is computed once. Only pipes, arbitration and barriers are looked at clock by clock.
 */
#include "timing/unit.h"

#include <stdlib.h>

enum { MOST_SIMDS = 4, MOST_OUT = 64, QUEUE = 64 /* clocks before LDS and address unit, behind which issue stops */ };

/* Operations of a wave that one counter counts: when each is done. */
typedef struct { u64 done[MOST_OUT]; u8 from[MOST_OUT]; u32 count; } Out;

typedef struct {
    const Steps *steps;
    u64 ready;              /* the clock from which its next instruction may issue */
    u64 reg[REGS];          /* when each can be read */
    u8 by[REGS];            /* who computes it: WAIT_RESULT or WAIT_MATRIX */
    u64 load[MOST_LOADS];   /* when it last issued each load; 0: never */
    u64 scalars;            /* when all scalar loads are done */
    Out loads, shared, stores;
    u32 at, simd, group;
    bool live, waits;       /* at a barrier */
    u8 why;                 /* it was not ready before: a Slot */
    Waited waited;
} UnitWave;

typedef struct { u32 live, waiting, first; } UnitGroup;

typedef struct {
    u64 vector, transcendental, matrix; /* free from */
    u64 next;               /* no wave is ready before */
    u8 holder;              /* of the vector pipe: WAIT_VECTOR or WAIT_MATRIX */
    Account account;
    u32 *wave, count;       /* the oldest first */
} Simd;

typedef struct {
    const Unit *u;
    const Rates *r;
    Change change;
    UnitWave *wave;
    UnitGroup *group;
    Simd simd[MOST_SIMDS];
    u32 waves_per_group, begun;
    u64 now, steps, draws;
    u64 address[2];         /* units, one of each CU: free from */
    double lds, port[MOST_SIMDS / 2], l2, mall, memory;
} Sim;

static u64 later(u64 a, u64 b) { return a > b ? a : b; }

/* On CDNA each SIMD may issue in one of four clocks. */
static u64 slot_from(const Sim *m, u64 t, u32 simd) { return m->r->slot == 1 ? t : t + ((simd - t) & 3); }

/* ---- waits ---- */

static void push(Out *o, u64 done, Slot from)
{
    if (o->count == MOST_OUT) {
        memmove(o->done, o->done + 1, (MOST_OUT - 1) * sizeof *o->done);
        memmove(o->from, o->from + 1, MOST_OUT - 1);
        o->count--;
    }
    if (o->count && o->done[o->count - 1] > done) { /* they return in order */
        done = o->done[o->count - 1];
        from = o->from[o->count - 1];
    }
    o->from[o->count] = (u8)from;
    o->done[o->count++] = done;
}

/* From when a wave may continue, and what it waits for until then. */
typedef struct { u64 from; Slot why; } Ready;

static Ready latest(Ready a, u64 from, u32 why) { return from > a.from ? (Ready){from, (Slot)why} : a; }

/* When no more than `left` of them are outstanding; those before are forgotten. */
static Ready wait_for(Ready ready, Out *o, i32 left)
{
    if (left < 0 || o->count <= (u32)left)
        return ready;
    u32 drop = o->count - (u32)left;
    ready = latest(ready, o->done[drop - 1], o->from[drop - 1]);
    memmove(o->done, o->done + drop, (u32)left * sizeof *o->done);
    memmove(o->from, o->from + drop, (u32)left);
    o->count = (u32)left;
    return ready;
}

static const Op *op_of(const Sim *m, const UnitWave *w) { return &m->u->op[w->steps->step[w->at].inst]; }

/* A matrix instruction that adds to what the one before wrote begins as soon as the pipe is free. */
static Ready registers_ready(Ready ready, const UnitWave *w, const Op *o)
{
    for (u32 k = 0; k < o->sources; k++) {
        bool chained = o->pipe == PIPE_MATRIX && k > 1;
        for (u32 n = 0; n < o->source[k].count; n++) {
            u32 reg = o->source[k].first + n;
            u64 at = w->reg[reg];
            ready = latest(ready, chained && at > 12 ? at - 12 : at, w->by[reg]);
        }
    }
    return ready;
}

/* From `t` on the wave looks at its next instruction; `why` not before. */
static void prepare(Sim *m, UnitWave *w, u64 t, Slot why)
{
    const Op *o = op_of(m, w);
    Ready ready = registers_ready((Ready){t, why}, w, o);
    if (o->pipe == PIPE_WAIT) {
        ready = wait_for(ready, &w->loads, o->vm);
        ready = wait_for(ready, &w->shared, o->lgkm);
        ready = latest(ready, o->lgkm == 0 ? w->scalars : 0, WAIT_SCALAR_LOADS);
        ready = wait_for(ready, &w->stores, o->stores);
    }
    w->ready = slot_from(m, ready.from, w->simd);
    w->why = (u8)ready.why;
    w->waited.clocks[ready.why] += w->ready - m->now;
    Simd *s = &m->simd[w->simd];
    s->next = w->ready < s->next ? w->ready : s->next;
}

/* ---- memory ---- */

static u64 draw(Sim *m)
{
    u64 x = ++m->draws * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 29;
}

static double serve(double *free_from, double t, double bytes, float a_clock)
{
    *free_from = (*free_from > t ? *free_from : t) + bytes / a_clock;
    return *free_from;
}

/* Of what units share, one has a part of the bytes over time; an access that finds nothing before it goes at full speed. */
static double serve_shared(double *free_from, double t, double bytes, float a_clock)
{
    double begins = *free_from > t ? *free_from : t;
    *free_from = begins + bytes / a_clock;
    return begins;
}

/* When a load is done that the wave asked for when it last issued it. */
static u64 asked_before(Sim *m, UnitWave *w, const Op *o, u64 done)
{
    u64 *last = &w->load[o->load - 1], earlier = *last ? m->now - *last : 0;
    *last = m->now;
    return later(m->now, done - earlier);
}

/* When the access is done. Its lines are found together: neighbours came, or did not come, together. */
static Ready access_memory(Sim *m, UnitWave *w, const Op *o, Step step)
{
    const Unit *u = m->u;
    bool store = o->pipe == PIPE_STORE;
    u64 *unit = &m->address[u->cus > 1 ? w->simd / 2 : 0];
    u32 lanes = m->r->rdna ? 32 : 64, best = (lanes * o->bytes + 127) / 128;
    u32 lines = m->change == NO_SCATTERED_LINES && step.work > best ? best : step.work;
    u32 lookups = m->change == NO_SCATTERED_LINES ? lines : step.extra > lines ? step.extra : lines;
    double busy = lanes * o->bytes / m->r->address;
    *unit = later(*unit, m->now) + (u64)(busy > lookups ? busy : lookups);
    Found found = u->found[step.inst];
    u64 drawn = draw(m);
    u32 level = 0;
    double at = (double)*unit;
    bool hits = !store && (m->change == ALL_IN_L1 || (drawn & 0xffff) < found.l1);
    if (!hits) {
        level = 1;
        at = serve(&m->l2, at, 128.0 * lines, u->l2);
        if (store)
            serve_shared(&m->memory, at, 128.0 * lines * u->written, u->memory);
        else if ((drawn >> 16 & 0xffff) >= found.l2 && (m->change != ONE_L2 || (drawn >> 48) >= u->across))
            level = (drawn >> 32 & 0xffff) < found.mall ? 2 : 3;
        if (level > 1 && u->mall > 0)
            at = serve_shared(&m->mall, at, 128.0 * lines, u->mall);
        if (level > 2)
            at = serve_shared(&m->memory, at, 128.0 * lines, u->memory);
    }
    u64 done = (u64)at + (m->change == NO_MEMORY_LATENCY ? 0 : m->r->level[level]);
    if (m->change == LOADS_EARLIER && o->load)
        done = asked_before(m, w, o, done);
    return (Ready){done, store ? WAIT_STORES : (Slot)(WAIT_L1 + level)};
}

/* CDNA: the two SIMDs of a pair share a port of 64 bytes a clock, on which a store sends its addresses as well. */
static u64 access_lds(Sim *m, const UnitWave *w, const Op *o, Step step)
{
    if (m->change == NO_LDS_TIME)
        return m->now;
    u32 cycles = step.work ? step.work : m->r->rdna ? 1 : 2;
    if (m->change == NO_LDS_CONFLICTS)
        cycles -= step.extra < cycles ? step.extra : cycles;
    double end = serve(&m->lds, (double)m->now, cycles, m->u->lds_rate);
    if (!m->r->rdna) {
        double port = serve(&m->port[w->simd / 2], (double)m->now, o->bytes + (o->writes_lds ? 4 : 0), 1);
        end = port > end ? port : end;
    }
    return (u64)end + m->r->lds;
}

/* ---- groups ---- */

static void start_group(Sim *m, u32 slot, u64 t)
{
    const Record *rec = m->u->record;
    UnitGroup *g = &m->group[slot];
    const Recorded *from = &rec->group[m->begun % rec->count];
    g->live = g->waiting = 0;
    for (u32 k = 0; k < from->waves; k++) {
        UnitWave *w = &m->wave[g->first + k];
        u32 simd = w->simd;
        memset(w, 0, sizeof *w);
        *w = (UnitWave){.steps = &from->wave[k], .simd = simd, .group = slot, .live = from->wave[k].count > 0, .waited = {.since = t}};
        g->live += w->live;
        if (w->live)
            prepare(m, w, t + 4 * k, NOTHING_TO_RUN);
    }
    m->begun++;
}

static void leave_barrier(Sim *m, UnitGroup *g, const UnitWave *last)
{
    if (g->waiting < g->live)
        return;
    g->waiting = 0;
    Slot cause = slots_cause(&last->waited, m->now);
    for (u32 k = 0; k < m->waves_per_group; k++) {
        UnitWave *w = &m->wave[g->first + k];
        if (!w->live || !w->waits)
            continue;
        w->waits = false;
        w->waited = (Waited){.since = m->now};
        prepare(m, w, m->now + m->r->barrier, cause);
    }
}

static void end_wave(Sim *m, UnitWave *w)
{
    UnitGroup *g = &m->group[w->group];
    w->live = false;
    w->ready = ~0ull;
    g->live--;
    if (g->live)
        leave_barrier(m, g, w);
    else if (m->begun < m->u->groups)
        start_group(m, w->group, m->now + m->r->start);
}

/* ---- issue ---- */

/* The clock from which the pipe takes the instruction. */
static u64 pipe_free(const Sim *m, const UnitWave *w, const Op *o)
{
    const Simd *s = &m->simd[w->simd];
    u64 lds = (u64)m->lds, port = m->r->rdna ? 0 : (u64)m->port[w->simd / 2], address = m->address[m->u->cus > 1 ? w->simd / 2 : 0];
    switch (o->pipe) {
    case PIPE_VECTOR: return o->packed && !m->r->rdna ? later(s->vector, s->matrix) : s->vector;
    case PIPE_TRANSCENDENTAL: return m->r->rdna ? later(s->vector, s->transcendental) : s->vector;
    case PIPE_MATRIX: return later(s->vector, s->matrix);
    case PIPE_LDS: lds = later(lds, port + QUEUE / 2); return lds > QUEUE ? lds - QUEUE : 0;
    case PIPE_LOAD: case PIPE_STORE: return address > QUEUE ? address - QUEUE : 0;
    default: return 0;
    }
}

/* What an instruction waits for whose pipe is busy. */
static Slot pipe_wait(const Sim *m, const UnitWave *w, const Op *o)
{
    switch (o->pipe) {
    case PIPE_VECTOR: case PIPE_TRANSCENDENTAL: return (Slot)m->simd[w->simd].holder;
    case PIPE_MATRIX: return WAIT_MATRIX;
    case PIPE_LDS: return WAIT_LDS;
    default: return WAIT_ADDRESS;
    }
}

static void write_results(UnitWave *w, const Op *o, u64 t)
{
    for (u32 k = 0; k < o->results; k++)
        for (u32 n = 0; n < o->to[k].count; n++) {
            w->reg[o->to[k].first + n] = t;
            w->by[o->to[k].first + n] = o->pipe == PIPE_MATRIX ? WAIT_MATRIX : WAIT_RESULT;
        }
}


static void issue_vector(Sim *m, UnitWave *w, const Op *o)
{
    Simd *s = &m->simd[w->simd];
    s->holder = WAIT_VECTOR;
    if (o->pipe == PIPE_TRANSCENDENTAL && m->r->rdna) {
        s->transcendental = m->now + o->clocks;
        s->vector = m->now + 1;
    } else {
        s->vector = m->now + o->clocks;
    }
    write_results(w, o, m->now + (o->result > o->clocks ? o->result : o->clocks));
}

static void issue_matrix(Sim *m, UnitWave *w, const Op *o)
{
    Simd *s = &m->simd[w->simd];
    u32 clocks = m->change == FULL_MATRIX_RATE ? o->full : o->clocks, saved = o->clocks - clocks;
    s->matrix = m->now + clocks;
    s->vector = m->now + (o->hold > saved ? o->hold - saved : 0);
    s->holder = WAIT_MATRIX;
    write_results(w, o, m->now + o->result - saved);
}

/* How many clocks later the wave looks at its next instruction. */
static u64 issue(Sim *m, UnitWave *w, const Op *o, Step step)
{
    switch (o->pipe) {
    case PIPE_VECTOR: case PIPE_TRANSCENDENTAL: issue_vector(m, w, o); break;
    case PIPE_MATRIX: issue_matrix(m, w, o); break;
    case PIPE_SCALAR: write_results(w, o, m->now + o->result); break;
    case PIPE_SCALAR_LOAD:
        w->scalars = later(w->scalars, m->now + (m->change == NO_MEMORY_LATENCY ? 0 : m->r->scalar_load));
        break;
    case PIPE_LDS: push(&w->shared, access_lds(m, w, o, step), WAIT_LDS); break;
    case PIPE_LOAD: case PIPE_STORE: {
        Ready done = step.shared ? (Ready){access_lds(m, w, o, step), WAIT_LDS} : access_memory(m, w, o, step);
        push(o->pipe == PIPE_STORE && m->r->rdna ? &w->stores : &w->loads, done.from, done.why);
        if (step.shared)
            push(&w->shared, done.from, done.why);
        break;
    }
    case PIPE_BRANCH: {
        bool taken = w->at + 1 < w->steps->count && w->steps->step[w->at + 1].inst != step.inst + 1;
        return taken ? m->r->branch : m->r->slot;
    }
    case PIPE_NONE: return o->clocks;
    default: break;
    }
    return m->r->slot;
}

static void go_on(Sim *m, UnitWave *w, u64 clocks, Slot why)
{
    if (++w->at == w->steps->count)
        end_wave(m, w);
    else
        prepare(m, w, m->now + clocks, why);
}

/* It takes no time and no pipe in this run. */
static bool is_left_out(const Sim *m, const Op *o)
{
    if (o->pipe == PIPE_MATRIX)
        return m->change == NO_MATRIX_TIME;
    return m->change == NO_VECTOR_TIME && (o->pipe == PIPE_VECTOR || o->pipe == PIPE_TRANSCENDENTAL);
}

static Slot slot_of(const Op *o)
{
    switch (o->pipe) {
    case PIPE_VECTOR: case PIPE_TRANSCENDENTAL: return ISSUED_VECTOR;
    case PIPE_MATRIX: return ISSUED_MATRIX;
    case PIPE_SCALAR: case PIPE_SCALAR_LOAD: case PIPE_BRANCH: return ISSUED_SCALAR;
    case PIPE_LDS: return ISSUED_LDS;
    case PIPE_LOAD: case PIPE_STORE: return ISSUED_MEMORY;
    default: return ISSUED_OTHER;
    }
}

/* What a SIMD did at one clock: pipes that took an instruction, and the kind that the slot counts for. */
typedef struct { u32 taken; Slot what; } Issued;

static void issue_now(Sim *m, UnitWave *w, const Op *o, Step step)
{
    m->steps++;
    if (o->pipe == PIPE_BARRIER && m->change != NO_BARRIERS && w->at + 1 < w->steps->count) {
        UnitGroup *g = &m->group[w->group];
        w->at++;
        w->waits = true;
        w->ready = ~0ull;
        g->waiting++;
        leave_barrier(m, g, w);
    } else {
        go_on(m, w, issue(m, w, o, step), o->pipe == PIPE_BRANCH ? WAIT_FETCH : ISSUED_OTHER);
    }
}

/* One instruction of the wave, if its pipe takes it. */
static void try_issue(Sim *m, UnitWave *w, Issued *now)
{
    Step step = w->steps->step[w->at];
    const Op *o = &m->u->op[step.inst];
    slots_lost(&m->simd[w->simd].account, m->now, (Slot)w->why);
    if (is_left_out(m, o)) {
        m->steps++;
        go_on(m, w, 0, ISSUED_OTHER);
        return;
    }
    bool internal = o->pipe == PIPE_WAIT || o->pipe == PIPE_NONE || o->pipe == PIPE_BARRIER || o->pipe == PIPE_END;
    u32 kind = o->pipe <= PIPE_MATRIX ? 1 : o->pipe <= PIPE_SCALAR_LOAD ? 2 : o->pipe == PIPE_LDS ? 4
             : o->pipe == PIPE_BRANCH ? 8 : 16;
    u64 from = pipe_free(m, w, o);
    if (from > m->now || (!internal && now->taken & kind)) {
        w->ready = slot_from(m, from > m->now ? from : m->now + m->r->slot, w->simd);
        w->why = (u8)pipe_wait(m, w, o);
        w->waited.clocks[w->why] += from > m->now ? w->ready - m->now : 0;
        return;
    }
    now->taken |= internal ? 0 : kind;
    now->what = slot_of(o) < now->what ? slot_of(o) : now->what;
    issue_now(m, w, o, step);
}

static void run_simd(Sim *m, Simd *s)
{
    Issued now = {0, SLOTS};
    s->next = ~0ull;
    for (u32 k = 0; k < s->count; k++) {
        UnitWave *w = &m->wave[s->wave[k]];
        if (w->live && w->ready <= m->now)
            try_issue(m, w, &now);
        if (w->live && w->ready < s->next)
            s->next = w->ready;
    }
    if (now.what < SLOTS)
        slots_issued(&s->account, m->now, m->r->slot, now.what);
}

/* ---- all of it ---- */

static bool create(Sim *m)
{
    const Unit *u = m->u;
    for (u32 n = 0; n < u->record->count; n++)
        m->waves_per_group = u->record->group[n].waves > m->waves_per_group ? u->record->group[n].waves : m->waves_per_group;
    u32 count = u->resident * m->waves_per_group;
    m->wave = calloc(count, sizeof *m->wave);
    m->group = calloc(u->resident, sizeof *m->group);
    bool made = m->wave && m->group;
    for (u32 s = 0; s < u->simds; s++) {
        m->simd[s] = (Simd){.next = ~0ull, .wave = calloc(count / u->simds + 1, sizeof(u32))};
        made &= m->simd[s].wave != NULL;
    }
    for (u32 k = 0; made && k < count; k++) {
        Simd *s = &m->simd[k % u->simds];
        m->wave[k].simd = k % u->simds;
        s->wave[s->count++] = k;
    }
    for (u32 g = 0; made && g < u->resident; g++)
        m->group[g].first = g * m->waves_per_group;
    return made;
}

static void destroy(Sim *m)
{
    for (u32 s = 0; s < m->u->simds; s++)
        free(m->simd[s].wave);
    free(m->wave);
    free(m->group);
}

UnitTime unit_run(const Unit *u, Change change)
{
    Sim m = {.u = u, .r = u->rates, .change = change};
    if (!create(&m)) {
        destroy(&m);
        return (UnitTime){0};
    }
    for (u32 g = 0; g < u->resident && m.begun < u->groups; g++)
        start_group(&m, g, 0);
    while (m.steps < u->most_steps) {
        u64 next = ~0ull;
        for (u32 s = 0; s < u->simds; s++)
            next = m.simd[s].next < next ? m.simd[s].next : next;
        if (next == ~0ull)
            break;
        m.now = next;
        for (u32 s = 0; s < u->simds; s++)
            if (m.simd[s].next <= m.now)
                run_simd(&m, &m.simd[s]);
    }
    UnitTime found = {.clocks = m.now, .steps = m.steps};
    for (u32 s = 0; s < u->simds; s++) {
        slots_lost(&m.simd[s].account, m.now, NOTHING_TO_RUN);
        for (u32 k = 0; k < SLOTS; k++)
            found.slots.clocks[k] += m.simd[s].account.of.clocks[k];
    }
    destroy(&m);
    return found;
}

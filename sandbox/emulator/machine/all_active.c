/*
 * While all lanes are active: bodies that check nothing about their operands. Decoding determines where each
 * row of 64 lanes lies. A scalar or a modified value has no row: it is written to a scratch row just before.
 */
#include "machine/all_active.h"

#include "machine/lanes.h"

static void fill_row(Wave *w, const Inst *i, int k)
{
    u32 *scratch_row = w->worker->scratch_row[k];
    switch (i->row->source[k]) {
    case TYPE_U64:
    case TYPE_I64:
    case TYPE_F64: source64_slow(w, i, k, scratch_row); return;
    case TYPE_PKF32: source_halves_slow(w, i, k, scratch_row); return;
    case TYPE_PKF16:
    case TYPE_PKU16: source_packed_slow(w, i, k, scratch_row); return;
    default:
        if (i->how[k] == READ_UNIFORM)
            source_uniform(w, i, k, scratch_row);
        else
            source_slow(w, i, k, scratch_row);
    }
}

/* The most frequent: one scalar of 32 bits. */
static void fill_scalar_then_run(Wave *w, const Inst *i)
{
    u32 k = i->filled, x = w->s[i->source[k]], *scratch_row = w->worker->scratch_row[k];
    for (int l = 0; l < LANES; l++)
        scratch_row[l] = x;
    i->row->all_active(w, i);
}

static void fill_rows_then_run(Wave *w, const Inst *i)
{
    for (int k = 0; k < i->row->lane_sources; k++)
        if (i->base[k] == BASE_SCRATCH_ROWS)
            fill_row(w, i, k);
    i->row->all_active(w, i);
}

enum { ROW_BYTES = 4 * LANES };

static void place_source(Inst *i, int k)
{
    u32 first = (u32)i->source[k] - FIRST_VGPR;
    switch (i->how[k]) {
    case READ_PLAIN:
        i->base[k] = BASE_REGISTERS;
        i->place[k] = first * ROW_BYTES;
        i->upper_place[k] = ((u32)i->upper[k] - FIRST_VGPR) * ROW_BYTES;
        return;
    case READ_CONSTANT:
        i->base[k] = BASE_CONSTANTS;
        i->place[k] = 2u * i->splat[k] * ROW_BYTES;
        return;
    default:
        i->base[k] = BASE_SCRATCH_ROWS;
        i->place[k] = 2u * (u32)k * ROW_BYTES;
        i->upper_place[k] = i->place[k] + ROW_BYTES;
    }
}

static bool is_wide(u8 type)
{
    return type == TYPE_U64 || type == TYPE_I64 || type == TYPE_F64 || type == TYPE_PKF32 || type == TYPE_PKF16 ||
           type == TYPE_PKU16;
}

/* How to run an instruction with `filled` sources that are not rows. */
static Handler *runner(const Inst *i, u32 filled)
{
    u32 k = i->filled;
    bool scalar = i->how[k] == READ_UNIFORM && i->source[k] < SCALAR_FILE && !is_wide(i->row->source[k]);
    if (!filled)
        return i->row->all_active;
    return filled == 1 && scalar ? fill_scalar_then_run : fill_rows_then_run;
}

static void settle_lanes(Inst *i)
{
    u32 filled = 0;
    for (int k = 0; k < i->row->lane_sources; k++) {
        place_source(i, k);
        if (i->base[k] == BASE_SCRATCH_ROWS) {
            i->filled = (u8)k;
            filled++;
        }
    }
    i->all_active = runner(i, filled);
}

static void settle_lds(Inst *i)
{
    u32 bytes = i->row->bytes;
    bool two = i->row->modifiers & MOD_OFFSET01;
    u32 unit = two ? bytes * i->row->detail[1] : 1;
    i->read.address_place = ((u32)i->source[0] - FIRST_VGPR) * ROW_BYTES;
    i->read.at[0] = (u32)i->offset * unit;
    i->read.at[1] = (u32)i->offset1 * unit;
    i->read.reach = (two && i->read.at[1] > i->read.at[0] ? i->read.at[1] : i->read.at[0]) + bytes;
    if (i->read.at[0] % 4 == 0 && i->read.at[1] % 4 == 0) /* else the memory model looks at each lane's word */
        i->all_active = i->row->all_active;
}

static void settle(Inst *i)
{
    i->all_active = i->run;
    if (!i->row->all_active || i->run != i->row->run || i->modified)
        return;
    i->result_place = ((u32)i->dst - FIRST_VGPR) * ROW_BYTES;
    if (i->row->family == FAMILY_LDS)
        settle_lds(i);
    else
        settle_lanes(i);
}

void all_active_settle(Program *p)
{
    for (u32 n = 0; n <= p->count; n++)
        settle(&p->code[n]);
    for (u32 n = 0; n < 2 * p->duals; n++)
        settle(&p->halves[n]);
}

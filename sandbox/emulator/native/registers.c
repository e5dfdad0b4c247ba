#include "native/registers.h"

void rows_start(Rows *r, Code *code, u32 chunk)
{
    *r = (Rows){.code = code, .chunk = chunk, .free = ~0u};
    memset(r->holder, NO_REGISTER, sizeof r->holder);
}

void rows_next(Rows *r) { r->kept = 0; }

static Operand location_of(const Rows *r, u32 row)
{
    return in_memory(AT_ROWS, 4 * (row * LANES + r->chunk * CHUNK_LANES));
}

static void write_back(Rows *r, u8 reg)
{
    if (r->changed >> reg & 1)
        x86_vector(r->code, VMOVDQA32_STORE, reg, NO_OPERAND, location_of(r, r->row[reg]), 0);
    r->changed &= ~(1u << reg);
}

static void set_free(Rows *r, u8 reg)
{
    r->holder[r->row[reg]] = NO_REGISTER;
    r->changed &= ~(1u << reg);
    r->free |= 1u << reg;
}

/* Of those that are not needed just now, the one not used for longest. An instruction needs a dozen at most. */
static u8 oldest(const Rows *r)
{
    u8 best = NO_REGISTER;
    for (u8 k = 0; k < HOST_REGISTERS; k++)
        if (!(r->kept >> k & 1) && (best == NO_REGISTER || r->used_at[k] < r->used_at[best]))
            best = k;
    return best;
}

static void keep(Rows *r, u8 reg)
{
    r->used_at[reg] = ++r->clock;
    r->kept |= 1u << reg;
}

u8 rows_fresh(Rows *r)
{
    u32 idle = r->free & ~r->kept;
    u8 reg = idle ? (u8)__builtin_ctz(idle) : oldest(r);
    if (!idle) {
        write_back(r, reg);
        set_free(r, reg);
    }
    keep(r, reg);
    return reg;
}

static void stand_for(Rows *r, u8 reg, u32 row)
{
    r->row[reg] = (u16)row;
    r->holder[row] = reg;
    r->free &= ~(1u << reg);
}

u8 rows_read(Rows *r, u32 row)
{
    u8 reg = r->holder[row];
    if (reg == NO_REGISTER) {
        reg = rows_fresh(r);
        x86_vector(r->code, VMOVDQA32_LOAD, reg, NO_OPERAND, location_of(r, row), 0);
        stand_for(r, reg, row);
    }
    keep(r, reg);
    return reg;
}

void rows_bind(Rows *r, u32 row, u8 reg)
{
    u8 old = r->holder[row];
    if (old != NO_REGISTER && old != reg)
        set_free(r, old);
    stand_for(r, reg, row);
    r->changed |= 1u << reg;
}

void rows_end(Rows *r)
{
    for (u8 k = 0; k < HOST_REGISTERS; k++)
        write_back(r, k);
}

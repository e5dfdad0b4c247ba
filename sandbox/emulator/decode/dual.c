#include "decode/dual.h"

#include "machine/lanes.h"

static bool reads(const Inst *i, u16 reg)
{
    return i->source[0] == reg || i->source[1] == reg || i->source[2] == reg;
}

static void run_dual(Wave *w, const Inst *i)
{
    const Inst *half = &w->program->halves[i->target];
    half[0].run(w, &half[0]);
    half[1].run(w, &half[1]);
}
static void run_dual_all_active(Wave *w, const Inst *i)
{
    const Inst *half = &w->program->halves[i->target];
    half[0].all_active(w, &half[0]);
    half[1].all_active(w, &half[1]);
}
/* Each reads what the other writes. */
static void run_crossed(Wave *w, const Inst *i)
{
    const Inst *x = &w->program->halves[i->target], *y = x + 1;
    u32 old[LANES], result[LANES];
    memcpy(old, vector(w, x->dst), sizeof old);
    x->run(w, x);
    memcpy(result, vector(w, x->dst), sizeof result);
    memcpy(vector(w, x->dst), old, sizeof old);
    y->run(w, y);
    memcpy(vector(w, x->dst), result, sizeof result);
}

static const Row dual_row = {.mnemonic = "v_dual", .run = run_dual, .all_active = run_dual_all_active, .layout = "*",
                             .family = FAMILY_VALU, .result = TYPE_F32, .source = {TYPE_F32}};

void dual_join(Inst *i, Inst half[2])
{
    i->row = &dual_row;
    bool second_reads = reads(&half[1], half[0].dst), first_reads = reads(&half[0], half[1].dst);
    i->run = second_reads && first_reads ? run_crossed : run_dual;
    if (second_reads && !first_reads) {
        Inst first = half[0];
        half[0] = half[1];
        half[1] = first;
    }
}

/* Rows do not give the widths of operands, but the disassembly does (`v[2:3]`), so its text is parsed here again. */
#include "checks/races/annotation_operands.h"

#include <ctype.h>
#include <stdio.h>

static const struct { const char *name; u16 first; u8 count; } named[] = {
    {"vcc_lo", SGPR_VCC, 1}, {"vcc_hi", SGPR_VCC + 1, 1}, {"vcc", SGPR_VCC, 2},
    {"exec_lo", SGPR_EXEC, 1}, {"exec_hi", SGPR_EXEC + 1, 1}, {"exec", SGPR_EXEC, 2}, {"m0", SGPR_M0, 1},
};

/* `v[2:3]`, `a5`, `s7`, `vcc`, also within neg(), abs() and bars; constants have no registers. */
static AnnotatedOperand read_operand(const char *s)
{
    AnnotatedOperand o = {0};
    s += strspn(s, "-|");
    for (const char *open = strchr(s, '('); open && isalpha((unsigned char)*s) && open - s <= 4; open = NULL)
        s = open + 1;
    s += strspn(s, "-|");
    for (size_t k = 0; k < sizeof named / sizeof *named; k++)
        if (!strncmp(s, named[k].name, strlen(named[k].name)))
            return (AnnotatedOperand){.first = named[k].first, .count = named[k].count};
    u32 base = *s == 'v' ? FIRST_VGPR : *s == 'a' ? FIRST_AGPR : 0, low = 0, high = 0;
    if (*s != 'v' && *s != 'a' && *s != 's')
        return o;
    if (sscanf(s + 1, "[%u:%u]", &low, &high) != 2) {
        if (sscanf(s + 1, "%u", &low) != 1)
            return o;
        high = low;
    }
    const char *half = s + 1 + strspn(s + 1, "0123456789");
    bool fits = high >= low && high < 256 && (base || high < SCALAR_FILE);
    return fits ? (AnnotatedOperand){.first = (u16)(base + low), .count = (u8)(high - low + 1),
                                     .half = !strncmp(half, ".l", 2) ? 1 : !strncmp(half, ".h", 2) ? 2 : 0} : o;
}

/* A scalar atomic puts the old value where the new one was. */
static bool returns_in_place(const Inst *i)
{
    return i->row->family == FAMILY_SMEM && i->row->detail[2] == ACCESS_ATOMIC && i->sc0;
}

static void annotate_words(const Words *words, const Inst *i, Annotation *n)
{
    const char *layout = i->row->layout;
    while (strcspn(layout, "|") != words->operands && layout[strcspn(layout, "|")])
        layout += strcspn(layout, "|") + 1;
    bool known = strcspn(layout, "|") == words->operands && *layout != '*';
    for (u32 k = 0; k < words->operands && k < ANNOTATED_OPERANDS; k++) {
        AnnotatedOperand o = read_operand(words->operand[k]);
        char role = known ? layout[k] : k ? '0' : 'd';
        o.result = role == 'd' || role == 's' || role == 'x';
        o.read = !o.result || role == 'x';
        o.result |= k == 0 && returns_in_place(i);
        if (role != '-' && o.count)
            n->operand[n->operands++] = o;
    }
}

static void annotate_register(Annotation *n, u16 reg, bool result)
{
    bool is_register = reg < SCALAR_FILE || (reg >= FIRST_VGPR && reg < FIRST_VGPR + VECTOR_REGISTERS);
    if (is_register && n->operands < ANNOTATED_OPERANDS)
        n->operand[n->operands++] = (AnnotatedOperand){.first = reg, .count = 1, .read = !result, .result = result};
}

/* The text of a dual instruction is that of two; all their registers have 32 bits. */
static void annotate_halves(const Inst half[2], Annotation *n)
{
    for (u32 h = 0; h < 2; h++) {
        annotate_register(n, half[h].dst, true);
        for (u32 k = 0; k < SOURCES && half[h].row->source[k] != TYPE_NONE; k++)
            annotate_register(n, half[h].source[k], false);
    }
}

void annotation_operands_add(const Program *p, const Words *words, const Inst *i, Annotation *n)
{
    if (is_dual(i))
        annotate_halves(&p->halves[i->target], n);
    else
        annotate_words(words, i, n);
}

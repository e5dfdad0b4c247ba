#include "decode/operands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine/formats.h"

enum { TRAP_REGISTERS = 16 };

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static void strip_encoding(Words *out)
{
    static const char *const endings[] = {"_e32", "_e64", "_dpp", "_sdwa"};
    for (int again = 0; again < 2; again++) /* _e64_dpp */
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
            if (ends_with(out->mnemonic, endings[k])) {
                out->mnemonic[strlen(out->mnemonic) - strlen(endings[k])] = 0;
                out->dpp |= k == 2;
                out->sdwa |= k == 3;
            }
}

size_t operands_length(const char *s)
{
    int depth = 0;
    size_t n = 0;
    for (; s[n]; n++) {
        if (s[n] == '[' || s[n] == '(')
            depth++;
        else if (s[n] == ']' || s[n] == ')')
            depth--;
        else if (!depth && (s[n] == ',' || s[n] == ' '))
            break;
    }
    return n;
}

bool operands_split(const char *text, Words *out)
{
    memset(out, 0, sizeof *out);
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strcspn(text, " \t");
    if (!n || n >= sizeof out->mnemonic)
        return false;
    memcpy(out->mnemonic, text, n);
    strip_encoding(out);
    text += n;
    while (isspace((unsigned char)*text))
        text++;
    while (*text) {
        n = operands_length(text);
        if (out->operands == MAX_OPERANDS || n >= OPERAND_BYTES)
            return false;
        memcpy(out->operand[out->operands++], text, n);
        text += n;
        if (*text != ',')
            break;
        text++;
        while (*text == ' ')
            text++;
    }
    if (strlen(text) >= sizeof out->modifiers)
        return false;
    strcpy(out->modifiers, text);
    return true;
}

/* ---- operands ---- */

static const struct { const char *name; u16 operand; } named_scalars[] = {
    {"vcc", 106}, {"vcc_lo", 106}, {"vcc_hi", 107}, {"exec", 126}, {"exec_lo", 126}, {"exec_hi", 127}, {"m0", 124},
    {"flat_scratch", 102}, {"flat_scratch_lo", 102}, {"flat_scratch_hi", 103}, {"xnack_mask", 104},
    {"xnack_mask_lo", 104}, {"xnack_mask_hi", 105}, {"src_vccz", SOURCE_VCCZ}, {"vccz", SOURCE_VCCZ},
    {"src_execz", SOURCE_EXECZ}, {"execz", SOURCE_EXECZ}, {"src_scc", SOURCE_SCC}, {"scc", SOURCE_SCC},
    {"off", SOURCE_OFF}, {"null", SGPR_NULL},
};

/* "12" or "[12:15]" or "[12]" after a register's letters. */
static bool register_range(const char *s, u32 *first, u32 *last)
{
    int used = 0;
    if (*s == '[') {
        if (sscanf(s, "[%u:%u]%n", first, last, &used) == 2 && used && !s[used])
            return *first <= *last;
        used = 0;
        *last = 0;
        if (sscanf(s, "[%u]%n", first, &used) == 1 && used && !s[used])
            return *last = *first, true;
        return false;
    }
    if (!isdigit((unsigned char)*s) || sscanf(s, "%u%n", first, &used) != 1 || s[used])
        return false;
    *last = *first;
    return true;
}

static bool register_operand(const char *s, u16 *out)
{
    u32 first, last, base, end;
    if (strncmp(s, "ttmp", 4) == 0) {
        base = SGPR_TTMP, end = SGPR_TTMP + TRAP_REGISTERS, s += 4;
    } else if (*s == 'v') {
        base = FIRST_VGPR, end = FIRST_VGPR + 256, s++;
    } else if (*s == 'a') {
        base = FIRST_AGPR, end = FIRST_AGPR + 256, s++;
    } else if (*s == 's') {
        base = 0, end = 106, s++;
    } else {
        return false;
    }
    if (!register_range(s, &first, &last) || base + last >= end)
        return false;
    *out = (u16)(base + first);
    return true;
}

/* The bits that an inline constant or literal means for a source of this type.
 * Source: CDNA3 ISA, "Inline constants"; LLVM AMDGPUOperandSyntax for 32-bit literals of 64-bit operands. */
static bool constant_bits(const char *s, Type type, u64 *out)
{
    char *end;
    bool hex = strstr(s, "0x") != NULL;
    if (!hex && strchr(s, '.')) {
        double x = strtod(s, &end);
        if (type == TYPE_F64 || type == TYPE_I64 || type == TYPE_U64)
            *out = bits_f64(x);
        else if (type == TYPE_F16 || type == TYPE_PKF16 || type == TYPE_U16 || type == TYPE_I16 || type == TYPE_PKU16)
            *out = bits_f16((float)x);
        else if (type == TYPE_BF16)
            *out = bits_bf16((float)x);
        else
            *out = bits_f32((float)x);
        return !*end;
    }
    long long x = strtoll(s, &end, 0);
    if (end == s || *end)
        return false;
    *out = (u64)x;
    if (hex && type == TYPE_F64)
        *out = (u64)x > 0xffffffffull ? (u64)x : (u64)x << 32;
    else if (hex && type == TYPE_I64)
        *out = (u64)(i64)(i32)x;
    return true;
}

static bool aperture(const char *s, u64 *out)
{
    if (strcmp(s, "src_shared_base") == 0)
        *out = pair(0, SHARED_APERTURE);
    else if (strcmp(s, "src_private_base") == 0)
        *out = pair(0, PRIVATE_APERTURE);
    else if (strcmp(s, "src_shared_limit") == 0)
        *out = pair(~0u, SHARED_APERTURE);
    else if (strcmp(s, "src_private_limit") == 0)
        *out = pair(~0u, PRIVATE_APERTURE);
    else
        return false;
    return true;
}

/*
 * Peel -x, |x|, neg(x), abs(x) and sext(x) off; the flags go to bit k of the instruction. lit(x) is a literal whose
 * value an inline constant has as well: LLVM 22 prints it so.
 */
static bool peel(char *s, int k, Inst *i)
{
    for (;;) {
        size_t n = strlen(s), drop = 0;
        if (s[0] == '-' && !isdigit((unsigned char)s[1])) {
            i->neg |= (u8)(1 << k);
            memmove(s, s + 1, n);
            continue;
        }
        if (s[0] == '|' && n > 2 && s[n - 1] == '|')
            drop = 1, i->abs |= (u8)(1 << k);
        else if (strncmp(s, "neg(", 4) == 0)
            drop = 4, i->neg |= (u8)(1 << k);
        else if (strncmp(s, "abs(", 4) == 0)
            drop = 4, i->abs |= (u8)(1 << k);
        else if (strncmp(s, "lit(", 4) == 0)
            drop = 4;
        else if (strncmp(s, "sext(", 5) == 0)
            drop = 5, i->sext |= (u8)(1 << k);
        else
            return true;
        if (n < drop + 2)
            return false;
        s[n - 1] = 0;
        memmove(s, s + drop, n - drop);
    }
}

static bool named_scalar(const char *s, u16 *out)
{
    for (size_t k = 0; k < sizeof named_scalars / sizeof *named_scalars; k++)
        if (strcmp(s, named_scalars[k].name) == 0) {
            *out = named_scalars[k].operand;
            return true;
        }
    return false;
}

/* Cut "v0.l" and "v0.h" to "v0". True: it was the upper half. */
static bool cut_half(char *s)
{
    size_t n = strlen(s);
    bool part = *s == 'v' && n > 2 && s[n - 2] == '.' && (s[n - 1] == 'l' || s[n - 1] == 'h');
    bool upper = part && s[n - 1] == 'h';
    if (part)
        s[n - 2] = 0;
    return upper;
}

static bool read_source(const char *text, int k, Inst *i)
{
    char s[OPERAND_BYTES];
    strcpy(s, text);
    if (!peel(s, k, i))
        return false;
    if (cut_half(s))
        i->half |= (u8)(1 << k);
    if (register_operand(s, &i->source[k]))
        return true;
    if (named_scalar(s, &i->source[k]) && i->source[k] != SGPR_NULL)
        return true;
    i->source[k] = SOURCE_CONSTANT;
    if (strcmp(s, "null") == 0)
        return true;
    return aperture(s, &i->constant[k]) || constant_bits(s, i->row->source[k], &i->constant[k]);
}

static bool read_scalar_result(const char *s, Inst *i)
{
    u16 at;
    if (!(register_operand(s, &at) || named_scalar(s, &at)) || at >= SCALAR_FILE)
        return false;
    i->sdst = at;
    return true;
}

static bool read_vector_result(const char *text, Inst *i)
{
    char s[OPERAND_BYTES];
    strcpy(s, text);
    if (cut_half(s))
        i->half |= HALF_RESULT_UPPER;
    if (strlen(s) != strlen(text))
        i->half |= HALF_RESULT_ALONE;
    return register_operand(s, &i->dst) && i->dst >= FIRST_VGPR;
}

/* The alternative of the layout that has as many operands as the text, or NULL. */
static const char *layout_for(const char *layout, u32 operands)
{
    for (;;) {
        size_t n = strcspn(layout, "|");
        if (n == operands || *layout == '*')
            return layout;
        if (!layout[n])
            return NULL;
        layout += n + 1;
    }
}

bool operands_read(const Words *words, Inst *i)
{
    const char *layout = layout_for(i->row->layout, words->operands);
    if (!layout)
        return false;
    i->operands = (u8)words->operands;
    i->dst = i->sdst = 0xffff;
    for (int k = 0; k < SOURCES; k++)
        i->source[k] = SOURCE_OFF;
    for (u32 n = 0; *layout != '*' && n < words->operands; n++) {
        const char *s = words->operand[n];
        bool ok = true;
        switch (layout[n]) {
        case 'd': ok = read_vector_result(s, i); break;
        case 'x': ok = read_vector_result(s, i) && read_source(s, 2, i); break;
        case 's': ok = read_scalar_result(s, i); break;
        case '-': break;
        default: ok = read_source(s, layout[n] - '0', i);
        }
        if (!ok)
            return false;
    }
    return true;
}

/* ---- registers of the trap handler ---- */

static bool is_trap_register(u32 operand) { return operand >= SGPR_TTMP && operand < SGPR_TTMP + TRAP_REGISTERS; }

/* The offset register of a scalar load is one word, though an immediate in its place may be signed and wide. */
static bool is_one_word(const Inst *i, int k)
{
    u8 type = i->row->source[k];
    if (i->row->family == FAMILY_SMEM && k == 1)
        return true;
    return type != TYPE_U64 && type != TYPE_I64 && type != TYPE_F64 && type != TYPE_PKF32 && type != TYPE_WIDE;
}

/* s_bfe_u32 of the wave's number, or of a part of it, as compilers read it. Source 1: offset, and size from bit 16 on. */
static bool takes_wave_number(const Inst *i, int k)
{
    u32 first = (u32)i->constant[1] & 31, size = (u32)i->constant[1] >> 16 & 127;
    return k == 0 && i->source[1] == SOURCE_CONSTANT && !strcmp(i->row->mnemonic, "s_bfe_u32") && first >= TTMP8_WAVE_AT &&
           first + size <= TTMP8_WAVE_END;
}

/* With architected flat scratch the hardware puts the wave's own address there, which nothing documents; XNACK_MASK is the
 * retry state of loads. Elsewhere these are registers as others.  LLVM AMDGPUUsage, "Flat Scratch". */
static bool is_set_by_hardware(const Program *p, u32 operand)
{
    enum { FLAT_SCRATCH = 102, XNACK_MASK = 104 };
    if (p->generation != GFX9)
        return false;
    u32 first = strcmp(p->arch, "gfx90a") ? FLAT_SCRATCH : XNACK_MASK;
    return operand >= first && operand < SGPR_VCC;
}

/* m0 is kept in ttmp2 around the message that stops a wave after a trap, where a trap handler is not known to be there.
 * LLVM, SIInstrInfo, insertSimulatedTrap(). */
static bool keeps_m0(const Inst *i)
{
    return !strcmp(i->row->mnemonic, "s_mov_b32") && ((i->sdst == SGPR_TTMP + 2 && i->source[0] == SGPR_M0) ||
                                                      (i->sdst == SGPR_M0 && i->source[0] == SGPR_TTMP + 2));
}

bool operands_known(const Inst *i, const Program *p)
{
    if (*i->row->layout == '*' || keeps_m0(i))
        return true;
    for (int k = 0; k < SOURCES; k++) {
        u32 at = i->source[k];
        if (is_set_by_hardware(p, at))
            return false;
        if (!is_trap_register(at))
            continue;
        bool workgroup = at == SGPR_TTMP + 7 || at == SGPR_TTMP + 9;
        if (p->generation != GFX12 || !is_one_word(i, k) ||
            !(workgroup || (at == SGPR_TTMP + 8 && takes_wave_number(i, k))))
            return false;
    }
    return !is_trap_register(i->sdst);
}

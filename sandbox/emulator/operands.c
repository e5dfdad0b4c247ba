#include "operands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats.h"

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

/* Length of the operand at `s`: up to a comma, or a blank, outside brackets. */
static size_t operand_length(const char *s)
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

bool split_words(const char *text, Words *out)
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
        n = operand_length(text);
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
    {"off", SOURCE_OFF},
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
        base = 108, end = 124, s += 4;
    } else if (*s == 'v') {
        base = FIRST_VGPR, end = FIRST_VGPR + 256, s++;
    } else if (*s == 'a') {
        base = FIRST_AGPR, end = FIRST_AGPR + 256, s++;
    } else if (*s == 's') {
        base = 0, end = 102, s++;
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

/* Peel -x, |x|, neg(x), abs(x) and sext(x) off; the flags go to bit k of the instruction. */
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

static bool read_source(const char *text, int k, Inst *i)
{
    char s[OPERAND_BYTES];
    strcpy(s, text);
    if (!peel(s, k, i))
        return false;
    if (register_operand(s, &i->source[k]) || named_scalar(s, &i->source[k]))
        return true;
    i->source[k] = SOURCE_CONSTANT;
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

static bool read_vector_result(const char *s, Inst *i)
{
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

bool read_operands(const Words *words, Inst *i)
{
    const char *layout = layout_for(i->row->layout, words->operands);
    if (!layout)
        return false;
    i->operands = (u8)words->operands;
    i->dst = i->sdst = 0xffff;
    for (int k = 0; k < 4; k++)
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

/* ---- modifiers ---- */

/* "[1,0,1]" to bits 0, 1, 2. */
static bool bit_list(const char *s, u8 *out)
{
    *out = 0;
    if (*s++ != '[')
        return false;
    for (int k = 0; *s && *s != ']'; k++) {
        if (*s == '1')
            *out |= (u8)(1 << k);
        else if (*s != '0')
            return false;
        s++;
        if (*s == ',')
            s++;
    }
    return *s == ']';
}

static bool lane_list(const char *s, Inst *i)
{
    u32 a, b, c, d;
    if (sscanf(s, "[%u,%u,%u,%u]", &a, &b, &c, &d) != 4 || (a | b | c | d) > 3)
        return false;
    i->dpp = DPP_QUAD_PERM;
    i->dpp_control = (u16)(a | b << 2 | c << 4 | d << 6);
    return true;
}

static bool select_part(const char *s, u8 *out)
{
    static const char *const names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
    for (u8 k = 0; k < 7; k++)
        if (strcmp(s, names[k]) == 0)
            return *out = k, true;
    return false;
}

static bool select_unused(const char *s, u8 *out)
{
    static const char *const names[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    for (u8 k = 0; k < 3; k++)
        if (strcmp(s, names[k]) == 0)
            return *out = k, true;
    return false;
}

static const struct { const char *name; u8 kind; } dpp_kinds[] = {
    {"row_shl", DPP_ROW_SHL}, {"row_shr", DPP_ROW_SHR}, {"row_ror", DPP_ROW_ROR}, {"wave_shl", DPP_WAVE_SHL},
    {"wave_rol", DPP_WAVE_ROL}, {"wave_shr", DPP_WAVE_SHR}, {"wave_ror", DPP_WAVE_ROR},
    {"row_mirror", DPP_ROW_MIRROR}, {"row_half_mirror", DPP_ROW_HALF_MIRROR}, {"row_newbcast", DPP_ROW_NEWBCAST},
};

static bool dpp_modifier(const char *name, const char *value, Inst *i)
{
    if (strcmp(name, "quad_perm") == 0)
        return value && lane_list(value, i);
    if (strcmp(name, "row_bcast") == 0 && value) {
        i->dpp = strcmp(value, "15") == 0 ? DPP_ROW_BCAST15 : DPP_ROW_BCAST31;
        return strcmp(value, "15") == 0 || strcmp(value, "31") == 0;
    }
    for (size_t k = 0; k < sizeof dpp_kinds / sizeof *dpp_kinds; k++)
        if (strcmp(name, dpp_kinds[k].name) == 0) {
            i->dpp = dpp_kinds[k].kind;
            i->dpp_control = value ? (u16)strtoul(value, NULL, 0) : 0;
            return true;
        }
    u8 *field = strcmp(name, "row_mask") == 0 ? &i->row_mask : strcmp(name, "bank_mask") == 0 ? &i->bank_mask : NULL;
    if (field && value)
        *field = (u8)strtoul(value, NULL, 0);
    else if (strcmp(name, "bound_ctrl") == 0)
        i->bound_zero = 1; /* printed as :0 or :1 by different releases; the word alone means the bit is set */
    else
        return false;
    return true;
}

/* Modifiers that are one number. */
static bool number_modifier(const char *name, const char *value, Inst *i, u32 *used)
{
    long x = strtol(value, NULL, 0);
    if (strcmp(name, "offset") == 0)
        *used = MOD_OFFSET, i->offset = strncmp(value, "swizzle", 7) == 0 ? (i32)(i->raw & 0xffff) : (i32)x;
    else if (strcmp(name, "offset0") == 0)
        *used = MOD_OFFSET01, i->offset = (i32)x;
    else if (strcmp(name, "offset1") == 0)
        *used = MOD_OFFSET01, i->offset1 = (i32)x;
    else if (strcmp(name, "cbsz") == 0)
        *used = MOD_MFMA, i->cbsz = (u8)x;
    else if (strcmp(name, "abid") == 0)
        *used = MOD_MFMA, i->abid = (u8)x;
    else if (strcmp(name, "blgp") == 0)
        *used = MOD_MFMA, i->blgp = (u8)x;
    else if (strcmp(name, "mul") == 0)
        *used = MOD_OMOD, i->omod = x == 2 ? 1 : 2;
    else if (strcmp(name, "div") == 0)
        *used = MOD_OMOD, i->omod = 3;
    else
        return false;
    return true;
}

static bool list_modifier(const char *name, const char *value, Inst *i, u32 *used)
{
    if (strcmp(name, "op_sel") == 0)
        return *used = MOD_OP_SEL, bit_list(value, &i->op_sel);
    if (strcmp(name, "op_sel_hi") == 0)
        return *used = MOD_OP_SEL_HI, bit_list(value, &i->op_sel_hi);
    if (strcmp(name, "neg_lo") == 0)
        return *used = MOD_NEG_LO_HI, bit_list(value, &i->neg);
    if (strcmp(name, "neg_hi") == 0)
        return *used = MOD_NEG_LO_HI, bit_list(value, &i->neg_hi);
    if (strcmp(name, "neg") == 0) /* f64 MFMA spells BLGP so */
        return *used = MOD_NEG, bit_list(value, &i->neg);
    *used = MOD_SDWA;
    if (strcmp(name, "src0_sel") == 0)
        return select_part(value, &i->select[0]);
    if (strcmp(name, "src1_sel") == 0)
        return select_part(value, &i->select[1]);
    if (strcmp(name, "dst_sel") == 0)
        return select_part(value, &i->dst_select);
    return strcmp(name, "dst_unused") == 0 && select_unused(value, &i->dst_unused);
}

static bool flag_modifier(const char *name, Inst *i, u32 *used)
{
    if (strcmp(name, "clamp") == 0)
        *used = MOD_CLAMP, i->clamp = 1;
    else if (strcmp(name, "sc0") == 0 || strcmp(name, "glc") == 0)
        *used = MOD_CACHE, i->sc0 = 1;
    else if (strcmp(name, "sc1") == 0 || strcmp(name, "nt") == 0 || strcmp(name, "slc") == 0 || strcmp(name, "scc") == 0)
        *used = MOD_CACHE;
    else if (strcmp(name, "offen") == 0)
        *used = MOD_BUFFER, i->offen = 1;
    else if (strcmp(name, "idxen") == 0)
        *used = MOD_BUFFER, i->idxen = 1;
    else if (strcmp(name, "lds") == 0)
        *used = MOD_LDS, i->lds = 1;
    else
        return false;
    return true;
}

static bool read_modifier(char *word, Inst *i)
{
    char *value = strchr(word, ':');
    u32 used = 0;
    if (value)
        *value++ = 0;
    if (dpp_modifier(word, value, i))
        used = MOD_DPP;
    else if (!(value ? number_modifier(word, value, i, &used) || list_modifier(word, value, i, &used)
                     : flag_modifier(word, i, &used)))
        return false;
    return (used & ~i->row->modifiers) == 0;
}

bool read_modifiers(const Words *words, Inst *i)
{
    char text[sizeof words->modifiers];
    strcpy(text, words->modifiers);
    i->sdwa = words->sdwa;
    i->select[0] = i->select[1] = i->dst_select = SELECT_DWORD;
    i->row_mask = i->bank_mask = 15;
    i->op_sel_hi = 7;
    char *rest = text;
    for (;;) {
        rest += strspn(rest, " ");
        size_t n = operand_length(rest);
        if (!n)
            break;
        bool more = rest[n] != 0;
        rest[n] = 0;
        if (!read_modifier(rest, i))
            return false;
        rest += n + more;
    }
    u32 used = (i->neg && !(i->row->modifiers & MOD_NEG_LO_HI) ? MOD_NEG : 0) | (i->abs ? MOD_ABS : 0) |
               (i->sext ? MOD_SEXT : 0) | (i->sdwa ? MOD_SDWA : 0) | (words->dpp ? MOD_DPP : 0);
    return (used & ~i->row->modifiers) == 0;
}

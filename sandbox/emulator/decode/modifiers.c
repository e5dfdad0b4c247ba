/* The modifiers of an instruction's text: what follows its operands. */
#include "decode/modifiers.h"

#include <stdio.h>
#include <stdlib.h>

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

/* dpp8:[7,6,5,4,3,2,1,0]: three bits for each lane of eight. */
static bool lanes_of_8(const char *s, Inst *i)
{
    u32 lane[8], all = 0;
    if (sscanf(s, "[%u,%u,%u,%u,%u,%u,%u,%u]", &lane[0], &lane[1], &lane[2], &lane[3], &lane[4], &lane[5], &lane[6],
               &lane[7]) != 8)
        return false;
    for (u32 k = 0; k < 8; k++) {
        if (lane[k] > 7)
            return false;
        all |= lane[k] << 3 * k;
    }
    i->dpp = DPP_LANES_OF_8;
    i->dpp_control = all;
    i->bound_zero = 1; /* a lane that cannot be read gives zero */
    return true;
}

static bool lane_list(const char *s, Inst *i)
{
    u32 a, b, c, d;
    if (sscanf(s, "[%u,%u,%u,%u]", &a, &b, &c, &d) != 4 || (a | b | c | d) > 3)
        return false;
    i->dpp = DPP_QUAD_PERM;
    i->dpp_control = a | b << 2 | c << 4 | d << 6;
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
    {"row_share", DPP_ROW_NEWBCAST}, {"row_xmask", DPP_ROW_XMASK},
};

static bool dpp_modifier(const char *name, const char *value, Inst *i)
{
    if (strcmp(name, "quad_perm") == 0)
        return value && lane_list(value, i);
    if (strcmp(name, "dpp8") == 0)
        return value && lanes_of_8(value, i);
    if (strcmp(name, "row_bcast") == 0 && value) {
        i->dpp = strcmp(value, "15") == 0 ? DPP_ROW_BCAST15 : DPP_ROW_BCAST31;
        return strcmp(value, "15") == 0 || strcmp(value, "31") == 0;
    }
    for (size_t k = 0; k < sizeof dpp_kinds / sizeof *dpp_kinds; k++)
        if (strcmp(name, dpp_kinds[k].name) == 0) {
            i->dpp = dpp_kinds[k].kind;
            i->dpp_control = value ? (u32)strtoul(value, NULL, 0) : 0;
            return true;
        }
    u8 *field = strcmp(name, "row_mask") == 0 ? &i->row_mask : strcmp(name, "bank_mask") == 0 ? &i->bank_mask : NULL;
    if (field && value)
        *field = (u8)strtoul(value, NULL, 0);
    else if (strcmp(name, "fi") == 0)
        i->fetch_inactive = value && strcmp(value, "0") != 0;
    else if (strcmp(name, "bound_ctrl") == 0)
        i->bound_zero = 1; /* printed as :0 or :1 by different releases; the word alone means the bit is set */
    else
        return false;
    return true;
}

/* RDNA4's cache policy: it says nothing that a functional run must know but whether an atomic gives the old value. */
static bool policy_modifier(const char *name, const char *value, Inst *i, u32 *used)
{
    bool policy = strcmp(name, "th") == 0;
    if (!policy && strcmp(name, "scope") != 0)
        return false;
    *used = MOD_CACHE;
    if (policy && strncmp(value, "TH_ATOMIC_", 10) == 0 && strstr(value, "RETURN"))
        i->sc0 = 1;
    return true;
}

/* A source's byte, or the one that a result fills, which the body then finds in op_sel. */
static void select_byte(Inst *i, long byte, u32 *used)
{
    *used = MOD_BYTE_SEL;
    if (i->row->modifiers & MOD_PART)
        return;
    i->sdwa = true;
    i->select[0] = (u8)(SELECT_BYTE_0 + (byte & 3));
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
    else if (strcmp(name, "bitop3") == 0)
        *used = MOD_BITOP3, i->bitop3 = (u8)strtol(value, NULL, 0);
    else if (strcmp(name, "index_key") == 0)
        *used = MOD_INDEX_KEY, i->index_key = (u8)x;
    else if (strcmp(name, "byte_sel") == 0)
        select_byte(i, x, used);
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
        return *used = i->row->modifiers & MOD_PART ? MOD_PART : MOD_OP_SEL, bit_list(value, &i->op_sel);
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
    else if (strcmp(name, "sc1") == 0 || strcmp(name, "nt") == 0 || strcmp(name, "slc") == 0 ||
             strcmp(name, "scc") == 0 || strcmp(name, "dlc") == 0 || strcmp(name, "nv") == 0)
        *used = MOD_CACHE;
    else if (strcmp(name, "offen") == 0)
        *used = MOD_BUFFER, i->offen = 1;
    else if (strcmp(name, "idxen") == 0)
        *used = MOD_BUFFER, i->idxen = 1;
    else if (strcmp(name, "gds") == 0)
        *used = MOD_GDS;
    else if (strcmp(name, "lds") == 0)
        *used = MOD_LDS, i->lds = 1;
    else
        return false;
    return true;
}

/* decode.c settles whether op_sel falls on operands that have halves. */
static u32 honoured(const Inst *i, bool rdna)
{
    return i->row->modifiers | (rdna && i->row->family == FAMILY_VALU ? MOD_OP_SEL : 0);
}

static bool read_modifier(char *word, Inst *i, bool rdna)
{
    char *value = strchr(word, ':');
    u32 used = 0;
    if (value)
        *value++ = 0;
    if (dpp_modifier(word, value, i))
        used = MOD_DPP;
    else if (!(value ? number_modifier(word, value, i, &used) || policy_modifier(word, value, i, &used) ||
                         list_modifier(word, value, i, &used)
                     : flag_modifier(word, i, &used)))
        return false;
    return (used & ~honoured(i, rdna)) == 0;
}

bool modifiers_read(const Words *words, Inst *i)
{
    char text[sizeof words->modifiers];
    strcpy(text, words->modifiers);
    i->sdwa = words->sdwa;
    i->select[0] = i->select[1] = i->dst_select = SELECT_DWORD;
    i->row_mask = i->bank_mask = 15;
    i->op_sel_hi = i->row->source[0] >= TYPE_PKF16 && i->row->source[0] <= TYPE_PKF32 ? 7 : 0;
    char *rest = text;
    for (;;) {
        rest += strspn(rest, " ");
        size_t n = operands_length(rest);
        if (!n)
            break;
        bool more = rest[n] != 0;
        rest[n] = 0;
        if (!read_modifier(rest, i, words->rdna))
            return false;
        rest += n + more;
    }
    u32 used = (i->neg && !(i->row->modifiers & MOD_NEG_LO_HI) ? MOD_NEG : 0) | (i->abs ? MOD_ABS : 0) |
               (i->sext ? MOD_SEXT : 0) | (i->sdwa ? MOD_SDWA : 0) | (words->dpp ? MOD_DPP : 0);
    return (used & ~i->row->modifiers) == 0;
}

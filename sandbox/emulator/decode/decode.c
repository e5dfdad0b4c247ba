/* Decodes a .text section with LLVM's disassembler and the rows of isa/. */
#include <stdio.h>
#include <stdlib.h>

#include "decode/disassembler.h"
#include "decode/dual.h"
#include "decode/modifiers.h"
#include "decode/row_index.h"
#include "isa/control.h"
#include "machine/all_active.h"
#include "machine/exec.h"
#include "machine/fault.h"
#include "model/shapes.h"
#include "native/compile.h"

enum { TEXT_BYTES = 256 };

/* ---- one instruction ---- */

static const Row unknown_row = {.mnemonic = "?", .run = fault_not_emulated, .layout = "*", .family = FAMILY_MISC};

static bool is_packed(u8 type) { return type == TYPE_PKF16 || type == TYPE_PKU16 || type == TYPE_PKF32; }

static u8 how_to_read(const Inst *i, int k)
{
    const Row *r = i->row;
    u32 bit = 1u << k;
    if (i->source[k] == SOURCE_OFF)
        return READ_UNIFORM;
    if (r->source[k] == TYPE_PKF32)
        return i->source[k] >= FIRST_VGPR && !((i->neg | i->neg_hi) & bit) ? READ_PLAIN : READ_MODIFIED;
    if (is_packed(r->source[k])) {
        bool straight = !(i->op_sel & bit) && (i->op_sel_hi & bit) && !(i->neg & bit) && !(i->neg_hi & bit);
        return i->source[k] >= FIRST_VGPR && straight ? READ_PLAIN : READ_MODIFIED;
    }
    if ((i->neg | i->abs | i->sext | (i->half & 7)) & bit || (k == 0 && i->dpp) || (i->sdwa && k < 2))
        return READ_MODIFIED;
    if (i->source[k] == SOURCE_CONSTANT)
        return READ_CONSTANT;
    return i->source[k] >= FIRST_VGPR ? READ_PLAIN : READ_UNIFORM;
}

static u32 source_count(const Row *r)
{
    u32 n = 0;
    while (n < SOURCES && r->source[n] != TYPE_NONE)
        n++;
    return n;
}

static bool is_vector(const Inst *i, int k) { return i->source[k] >= FIRST_VGPR; }

/* Bodies that access registers directly rely on this check: machine code may hold anything. */
static bool operands_fit(const Inst *i)
{
    bool first = is_vector(i, 0), off = i->source[0] == SOURCE_OFF;
    switch ((Family)i->row->family) {
    case FAMILY_MFMA: return first && is_vector(i, 1);
    case FAMILY_LDS:
        for (int k = 0; k < 3; k++)
            if (!is_vector(i, k) && i->source[k] != SOURCE_OFF)
                return false;
        return true;
    case FAMILY_FLAT:
    case FAMILY_GLOBAL: return first && !is_vector(i, 1) && (is_vector(i, 2) || i->source[2] == SOURCE_OFF);
    case FAMILY_SCRATCH: return (first || off) && !is_vector(i, 1) && (is_vector(i, 2) || i->source[2] == SOURCE_OFF);
    case FAMILY_BUFFER:
        return (first || (off && !i->offen && !i->idxen)) && i->source[1] + 3 < SCALAR_FILE &&
               (is_vector(i, 2) || i->source[2] == SOURCE_OFF) && !is_vector(i, 3);
    default: return true;
    }
}

static bool is_half(u8 type) { return type == TYPE_U16 || type == TYPE_I16 || type == TYPE_F16 || type == TYPE_BF16; }

/* op_sel chooses halves of registers. On RDNA it does so for every operand of 16 bits, which may also be spelt v0.h, and
 * a result of 16 bits leaves the other half alone.  RDNA3 ISA, "16-bit math and VGPRs". */
static bool settle_halves(Inst *i, bool rdna)
{
    const Row *r = i->row;
    u32 count = source_count(r);
    if (r->family != FAMILY_VALU)
        return true;
    if (r->modifiers & MOD_OP_SEL || rdna) {
        for (u32 k = 0; k < count && k < 3; k++)
            if (i->op_sel >> k & 1 && !is_packed(r->source[k])) {
                if (!(r->modifiers & MOD_OP_SEL) && !is_half(r->source[k]))
                    return false;
                i->half |= (u8)(1 << k);
            }
        if (i->op_sel >> count & 1 && !is_packed(r->result)) {
            if (!(r->modifiers & MOD_OP_SEL) && !is_half(r->result))
                return false;
            i->half |= HALF_RESULT_UPPER;
        }
    }
    if (r->detail[0] == 0xff || (rdna && is_half(r->result)))
        i->half |= HALF_RESULT_ALONE;
    return true;
}

/* Chooses the paths through source() and put() for this instruction. */
static bool settle(Inst *i, bool rdna)
{
    const Row *r = i->row;
    if (!operands_fit(i) || !settle_halves(i, rdna))
        return false;
    for (int k = 0; k < SOURCES; k++) {
        i->how[k] = how_to_read(i, k);
        bool constant_pair = r->source[k] == TYPE_PKF32 && i->source[k] == SOURCE_CONSTANT && i->constant[k];
        if (constant_pair && ((i->op_sel | i->op_sel_hi) >> k & 1))
            return false; /* what the upper half of an inline constant reads is not documented */
        if (r->source[k] == TYPE_PKF32 && i->how[k] == READ_PLAIN) {
            i->upper[k] = (u16)(i->source[k] + (i->op_sel_hi >> k & 1));
            i->source[k] = (u16)(i->source[k] + (i->op_sel >> k & 1));
        }
    }
    i->modified = i->clamp || i->omod || i->sdwa || i->dpp || i->half & (HALF_RESULT_UPPER | HALF_RESULT_ALONE);
    return true;
}

/* On RDNA a scalar instruction whose result is `null` does nothing.  RDNA4 ISA, "Scalar ALU operands". */
static void run_nothing(Wave *w, const Inst *i)
{
    (void)w;
    (void)i;
}

static bool decode_single(Program *p, const RowIndex *rows, const char *text, Inst *i)
{
    Words words;
    if (!operands_split(text, &words))
        return false;
    words.rdna = p->generation >= GFX11;
    i->row = row_index_find(rows, words.mnemonic);
    if (!i->row)
        return false;
    i->run = i->row->run;
    if (*i->row->layout != '*' && !(operands_read(&words, i) && modifiers_read(&words, i) && settle(i, words.rdna)))
        return false;
    if (!operands_known(i, p) || !exec_settle(p, i))
        return false;
    if (words.rdna && i->row->family == FAMILY_SALU && i->sdst == SGPR_NULL)
        i->run = run_nothing;
    return true;
}

/* ---- dual instructions ---- */

/* "v_dual_add_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4": each half is the instruction of that name. */
static bool decode_dual(Program *p, const RowIndex *rows, const char *text, Inst *i)
{
    const char *from[2] = {text, strstr(text, " :: ")};
    Inst *halves = &p->halves[2 * p->duals];
    for (int k = 0; k < 2; k++) {
        char half[TEXT_BYTES] = "v_";
        const char *name = strstr(from[k], "v_dual_");
        size_t n = name ? strlen(name += strlen("v_dual_")) : 0;
        if (k == 0 && name && name < from[1])
            n = (size_t)(from[1] - name);
        if (!n || n > sizeof half - 3)
            return false;
        memcpy(half + 2, name, n);
        half[2 + n] = 0;
        memset(&halves[k], 0, sizeof halves[k]);
        halves[k].text = i->text;
        if (!decode_single(p, rows, half, &halves[k]) || halves[k].row->family != FAMILY_VALU ||
            halves[k].dst < FIRST_VGPR)
            return false;
    }
    dual_join(i, halves);
    i->target = 2 * p->duals++;
    return halves[0].dst != halves[1].dst;
}

static void decode_one(Program *p, const RowIndex *rows, const char *text, Inst *i)
{
    if (strstr(text, " :: ") ? decode_dual(p, rows, text, i) : decode_single(p, rows, text, i))
        return;
    i->row = &unknown_row;
    i->run = fault_not_emulated;
}

/* ---- the section ---- */

typedef struct { char *bytes; u64 used, room; } TextStore;

static bool keep_text(TextStore *t, const char *text, u32 *offset)
{
    size_t n = strlen(text) + 1;
    if (t->used + n > t->room) {
        u64 room = 2 * (t->room + n);
        char *bytes = realloc(t->bytes, room);
        if (!bytes)
            return false;
        t->bytes = bytes;
        t->room = room;
    }
    memcpy(t->bytes + t->used, text, n);
    *offset = (u32)t->used;
    t->used += n;
    return true;
}

static void resolve_branches(Program *p)
{
    for (u32 k = 0; k < p->count; k++) {
        Inst *i = &p->code[k];
        if (i->row->family != FAMILY_BRANCH)
            continue;
        i->target = p->count;
        i64 to = (i64)p->offset_of[k] + 4 + 4 * (i64)(int16_t)i->raw;
        if (to >= 0 && (u64)to < p->bytes && p->index_of[to / 4] != ~0u)
            i->target = p->index_of[to / 4];
    }
}

/* ---- straight runs: instructions that the loop need not check one by one ---- */

static bool goes_on(const Inst *i)
{
    const Row *r = i->row;
    u32 loaded = r->family == FAMILY_SMEM ? r->bytes / 4 : 0, end = i->sdst + (loaded > 1 ? loaded : 1);
    bool exec = exec_written_by(i) || (i->sdst <= SGPR_EXEC + 1 && end > SGPR_EXEC);
    bool control = r->family == FAMILY_BRANCH || r->family == FAMILY_BARRIER || r->family == FAMILY_MISC;
    return i->run == control_no_effect || i->run == control_fence || !(exec || control || r->alone);
}

/* `straight`: the number of instructions from this one on that run in sequence with the same EXEC, unless one faults.
 * `steps`: the distance to the next of them that has an effect. */
static void link_runs(Program *p)
{
    p->code[p->count].steps = 1;
    for (u32 n = p->count; n-- > 0;) {
        Inst *i = &p->code[n], *next = i + 1;
        bool on = goes_on(i), skip = on && next->run == control_no_effect;
        i->straight = !on ? 0 : next->straight < UINT16_MAX ? (u16)(next->straight + 1) : UINT16_MAX;
        i->steps = skip && next->steps < UINT16_MAX ? (u16)(next->steps + 1) : 1;
    }
}

/* Recently decoded instructions of one or two words. The first word determines whether there is a second, and the two
 * whether there is a third; but a row that is not known may be the beginning of something longer. */
enum { REMEMBERED = 1 << 14, LONGEST_REMEMBERED = 8 };
typedef struct { u64 words; u32 index, bytes; } Remembered;

static Remembered *remembered(Remembered *all, u64 words) { return &all[words * 0x9e3779b97f4a7c15 >> 50]; }

static u32 recall(const Program *p, Remembered *all, u64 two_words, Inst *i)
{
    const u64 keys[] = {(u32)two_words, two_words};
    for (u32 n = 0; n < 2; n++) {
        const Remembered *m = remembered(all, keys[n]);
        if (m->bytes == 4 * (n + 1) && m->words == keys[n]) {
            *i = p->code[m->index];
            return m->bytes;
        }
    }
    return 0;
}

static void remember(Remembered *all, u64 two_words, u32 index, u32 bytes)
{
    u64 key = bytes == 4 ? (u32)two_words : two_words;
    if (bytes <= LONGEST_REMEMBERED)
        *remembered(all, key) = (Remembered){key, index, bytes};
}

static bool decode_all(Program *p, Disassembler *d, const RowIndex *rows, TextStore *store, Remembered *lately)
{
    u8 *code = (u8 *)p->address;
    for (u64 at = 0, n; at + 4 <= p->bytes; at += n ? n : 4) {
        char text[TEXT_BYTES] = "";
        u64 words = 0;
        Inst *i = &p->code[p->count];
        memcpy(&words, code + at, p->bytes - at < sizeof words ? 4 : sizeof words);
        n = recall(p, lately, words, i);
        if (!n) {
            n = disassembler_read(d, code + at, p->bytes - at, p->address + at, text, sizeof text);
            i->raw = (u32)words;
            decode_one(p, rows, n ? text : "(no instruction)", i);
            if (!keep_text(store, n ? text + strspn(text, " \t") : "(no instruction)", &i->text))
                return false;
            if (n && i->row != &unknown_row)
                remember(lately, words, p->count, (u32)n);
        }
        p->index_of[at / 4] = p->count;
        p->offset_of[p->count++] = (u32)at;
    }
    return true;
}

/* Gives each constant that is read as 64 lanes its own row, while there are few. */
enum { MOST_CONSTANTS = 256 };

static u32 place_of_constant(u64 *values, u32 *count, u64 value)
{
    u32 at = 0;
    while (at < *count && values[at] != value)
        at++;
    if (at == *count && at < MOST_CONSTANTS)
        values[(*count)++] = value;
    return at;
}

static void spread(Program *p, Inst *i, u64 *values)
{
    for (int k = 0; k < SOURCES; k++) {
        if (i->how[k] != READ_CONSTANT)
            continue;
        bool worth = i->row->family == FAMILY_VALU;
        u32 at = worth ? place_of_constant(values, &p->constant_count, i->constant[k]) : MOST_CONSTANTS;
        i->splat[k] = (u8)at;
        i->how[k] = at < MOST_CONSTANTS ? READ_CONSTANT : READ_UNIFORM;
    }
}

static bool spread_constants(Program *p)
{
    u64 values[MOST_CONSTANTS];
    for (u32 n = 0; n < p->count; n++)
        spread(p, &p->code[n], values);
    for (u32 n = 0; n < 2 * p->duals; n++)
        spread(p, &p->halves[n], values);
    p->constants = aligned_alloc(64, (p->constant_count + 1) * sizeof *p->constants);
    for (u32 n = 0; p->constants && n < p->constant_count; n++)
        for (int l = 0; l < LANES; l++) {
            p->constants[n][l] = (u32)values[n];
            p->constants[n][LANES + l] = (u32)(values[n] >> 32);
        }
    return p->constants;
}

static const Row end_row = {.mnemonic = "(end of the section)", .run = NULL, .layout = "*", .family = FAMILY_MISC};

static void run_off_the_end(Wave *w, const Inst *i)
{
    fault_record(w, i, OUTCOME_BAD_PC, SPACE_GLOBAL, 0, w->program->address + w->program->bytes, 4, false);
}

static Inst *instructions(u64 count)
{
    Inst *code = aligned_alloc(_Alignof(Inst), count * sizeof *code);
    return code ? memset(code, 0, count * sizeof *code) : NULL;
}

static bool build(Program *p, const char *arch, char *error, size_t error_bytes)
{
    u64 words = p->bytes / 4;
    p->code = instructions(words + 1);
    p->halves = instructions(p->generation >= GFX11 ? words + 2 : 1); /* a dual instruction has two words */
    p->index_of = malloc((words + 1) * sizeof *p->index_of);
    p->offset_of = malloc((words + 1) * sizeof *p->offset_of);
    RowIndex rows = {0};
    TextStore store = {0};
    Remembered *lately = calloc(REMEMBERED, sizeof *lately);
    Disassembler *d = disassembler_open(arch, p->wave32 ? 32 : 64, error, error_bytes);
    bool ok = d && p->code && p->halves && p->index_of && p->offset_of && lately && row_index_make(&rows);
    if (ok) {
        memset(p->index_of, 0xff, (words + 1) * sizeof *p->index_of);
        ok = decode_all(p, d, &rows, &store, lately) && keep_text(&store, "(end of the section)", &p->code[p->count].text) &&
             spread_constants(p);
    }
    if (ok) {
        p->offset_of[p->count] = (u32)p->bytes;
        p->code[p->count].row = &end_row;
        p->code[p->count].run = run_off_the_end;
        resolve_branches(p);
        link_runs(p);
        all_active_settle(p);
        compile_program(p);
    } else if (d && error && error_bytes) {
        snprintf(error, error_bytes, "out of memory while decoding %llu bytes", (unsigned long long)p->bytes);
    }
    p->text = store.bytes;
    free(lately);
    row_index_destroy(&rows);
    disassembler_close(d);
    return ok;
}

static const struct { const char *arch; Generation generation; bool ocp_float8; } emulated[] = {
    {"gfx90a", GFX9, false}, {"gfx942", GFX9, false}, {"gfx950", GFX9, true}, {"gfx1100", GFX11, true},
    {"gfx1201", GFX12, true},
};

Program *program_decode(const char *arch, u32 wave_size, u64 address, u64 bytes, char *error, size_t error_bytes)
{
    size_t known = 0, count = sizeof emulated / sizeof *emulated;
    while (known < count && strcmp(arch, emulated[known].arch) != 0)
        known++;
    if (known < count && !wave_size)
        wave_size = emulated[known].generation == GFX9 ? 64 : 32;
    if (known == count) {
        snprintf(error, error_bytes, "%s is not emulated; gfx90a, gfx942, gfx950, gfx1100 and gfx1201 are", arch);
        return NULL;
    }
    if (wave_size == 32 && emulated[known].generation == GFX9) {
        snprintf(error, error_bytes, "%s has no waves of 32 lanes", arch);
        return NULL;
    }
    Program *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->address = address;
    p->bytes = bytes / 4 * 4;
    p->text_start = address;
    p->text_end = address + p->bytes;
    p->shape = shapes_find(arch);
    p->flushes_halves = strcmp(arch, "gfx90a") == 0;
    p->wave32 = wave_size == 32;
    p->generation = emulated[known].generation;
    p->ocp_float8 = emulated[known].ocp_float8;
    p->annotations = calloc(1, sizeof *p->annotations);
    snprintf(p->arch, sizeof p->arch, "%s", arch);
    if (p->annotations && build(p, arch, error, error_bytes))
        return p;
    program_destroy(p);
    return NULL;
}

/* Whether it leaves its own code by a direct call or branch; computed jumps do not count. */
static bool leaves(const Program *p)
{
    for (u32 k = 0; k < p->count; k++) {
        const Inst *i = &p->code[k];
        if (strcmp(i->row->mnemonic, "s_swappc_b64") == 0 || (i->row->family == FAMILY_BRANCH && i->target == p->count))
            return true;
    }
    return false;
}

Program *program_decode_kernel(const char *arch, u32 wave_size, u64 text, u64 text_end, u64 address, u64 bytes, char *error,
                               size_t error_bytes)
{
    if (error_bytes)
        *error = 0;
    Program *p = program_decode(arch, wave_size, address, bytes, error, error_bytes);
    if (p && leaves(p)) {
        program_destroy(p);
        return NULL;
    }
    if (p) {
        p->text_start = text;
        p->text_end = text_end;
    }
    return p;
}

void program_destroy(Program *p)
{
    if (!p)
        return;
    compile_forget(p);
    if (p->annotations)
        free(*p->annotations);
    free(p->annotations);
    free(p->code);
    free(p->halves);
    free(p->index_of);
    free(p->offset_of);
    free(p->text);
    free(p->constants);
    free(p);
}

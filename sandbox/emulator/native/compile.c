#include "native/compile.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "isa/control.h"
#include "native/lower.h"

typedef struct {
    const Inst *inst;
    const Lowering *how;
} Piece;

typedef struct {
    Program *program;
    Code code;
    u64 stopped;       /* where code continues when a handler stopped the wave */
    bool *starts;      /* by instruction: a run may begin here */
    Piece (*pieces)[2]; /* by instruction: itself, or the halves of a dual one; none: its handler is called */
} Compiler;

static u32 number_of(const Compiler *c, const Inst *i) { return (u32)(i - c->program->code); }

/* ---- one run ---- */

/* Whether code for 16 lanes at a time can include this instruction after those that used scalars in these ways. */
static bool can_follow(const Piece *pieces, ScalarUse *uses)
{
    bool ok = pieces[0].inst;
    for (u32 k = 0; k < 2 && pieces[k].inst; k++)
        ok = lower_record_scalars(uses, pieces[k].inst, pieces[k].how) && ok;
    return ok;
}

/* From `i` on, instructions that become code: all of them for 16 lanes, then for the next 16. */
static const Inst *compile_lanes(Compiler *c, const Inst *first, const Inst *end)
{
    ScalarUse uses[SCALAR_FILE] = {UNUSED};
    const Inst *i = first;
    while (i < end && can_follow(c->pieces[number_of(c, i)], uses))
        i += i->steps;
    for (u32 chunk = 0; chunk < (c->program->wave32 ? 2 : LANES / CHUNK_LANES); chunk++) {
        Rows rows;
        rows_start(&rows, &c->code, chunk);
        for (const Inst *k = first; k < i; k += k->steps) {
            const Piece *pieces = c->pieces[number_of(c, k)];
            for (u32 n = 0; n < 2 && pieces[n].inst; n++) {
                rows_next(&rows);
                lower(&rows, pieces[n].inst, pieces[n].how);
            }
        }
        rows_end(&rows);
    }
    x86_vzeroupper(&c->code);
    return i;
}

static void compile_run(Compiler *c, const Inst *i, const Inst *end)
{
    x86_run_begin(&c->code, c->program->code);
    while (i < end) {
        if (c->pieces[number_of(c, i)]->inst) {
            i = compile_lanes(c, i, end);
            continue;
        }
        if (i->run != control_no_effect)
            x86_run_call(&c->code, i, c->program->code, c->stopped);
        i += i->steps;
    }
    x86_run_end(&c->code, i);
}

/* ---- all of them ---- */

static void find_pieces(Compiler *c, u32 n)
{
    const Inst *i = &c->program->code[n], *first = is_dual(i) ? &c->program->halves[i->target] : i;
    Piece *pieces = c->pieces[n];
    ScalarUse own[SCALAR_FILE] = {UNUSED};
    bool ok = first == i || i->run == i->row->run; /* else both halves read what the other writes */
    for (u32 k = 0; k <= is_dual(i) && ok; k++) {
        pieces[k] = (Piece){first + k, lower_find(first + k)};
        ok = pieces[k].how;
    }
    if (!ok || !can_follow(pieces, own))
        memset(pieces, 0, sizeof *c->pieces);
}

/* Where the loop may enter a run: after the end of another, and at branch targets. Everywhere else it interprets. */
static void find_starts(Compiler *c)
{
    const Program *p = c->program;
    for (u32 n = 0; n < p->count; n++) {
        find_pieces(c, n);
        if (!n || !p->code[n - 1].straight)
            c->starts[n] = true;
        if (p->code[n].row->family == FAMILY_BRANCH)
            c->starts[p->code[n].target] = true;
    }
}

static u32 end_of_run(const Compiler *c, u32 first)
{
    u32 n = first + 1, end = first + c->program->code[first].straight;
    while (n < end && !c->starts[n])
        n++;
    return n;
}

static void compile_all(Compiler *c)
{
    enum { ALIGNMENT = 16 };
    Program *p = c->program;
    c->stopped = x86_runs_stopped(&c->code);
    for (u32 n = 0; n < p->count && !c->code.full; n++) {
        if (!c->starts[n] || !p->code[n].straight)
            continue;
        c->code.used = (c->code.used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        p->compiled[n] = (CompiledRun *)(void *)(c->code.bytes + c->code.used);
        compile_run(c, &p->code[n], &p->code[end_of_run(c, n)]);
    }
}

/* Frees the memory that the code did not need. Memory is never writable and executable at the same time. */
static bool publish(Program *p, const Code *code)
{
    enum { PAGE = 4096 };
    u64 needed = (code->used + PAGE - 1) / PAGE * PAGE;
    if (needed < p->machine_code_bytes)
        munmap(p->machine_code + needed, p->machine_code_bytes - needed);
    p->machine_code_bytes = needed;
    return mprotect(p->machine_code, needed, PROT_READ | PROT_EXEC) == 0;
}

static bool compile(Program *p)
{
    enum { PADDING = 64 };
    Compiler c = {.program = p, .code = {.bytes = p->machine_code, .used = PADDING, .room = p->machine_code_bytes}};
    c.starts = calloc(p->count + 1, sizeof *c.starts);
    c.pieces = calloc(p->count + 1, sizeof *c.pieces);
    p->compiled = calloc(p->count + 1, sizeof *p->compiled);
    bool done = c.starts && c.pieces && p->compiled;
    if (done) {
        find_starts(&c);
        compile_all(&c);
    }
    free(c.starts);
    free(c.pieces);
    return done && !c.code.full && publish(p, &c.code);
}

void compile_program(Program *p)
{
    enum { BYTES_EACH = 2048, MOST = 1 << 20 };
    if (!__builtin_cpu_supports("avx512f") || p->count > MOST)
        return;
    p->machine_code_bytes = (p->count + 4ull) * BYTES_EACH;
    p->machine_code = mmap(NULL, p->machine_code_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p->machine_code == MAP_FAILED)
        p->machine_code = NULL;
    if (!p->machine_code || !compile(p))
        compile_forget(p);
}

void compile_forget(Program *p)
{
    free(p->compiled);
    if (p->machine_code)
        munmap(p->machine_code, p->machine_code_bytes);
    p->compiled = NULL;
    p->machine_code = NULL;
}

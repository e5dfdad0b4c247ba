/* What is told of a dispatch: a JSON line for the runner, or a sentence for a person. */
#define _GNU_SOURCE
#include "hip/launch/launch.h"
#include "hip/streams/stream_order.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* PAGE is also the gap between blocks; an index of 32 bits that wraps goes astray by less than FAR. */
#define PAGE 4096ull
#define NULL_BYTES 65536ull
#define FAR (1ull << 40)
#define ARGUMENTS "the kernel's arguments"
enum { LONGEST_NAME = 512 }; /* of a variable; the rest of it is left out */

static const char *const spaces[] = {
    [SPACE_GLOBAL] = "global", [SPACE_LDS] = "lds", [SPACE_SCRATCH] = "scratch", [SPACE_SCALAR] = "scalar"};

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static bool in_memory(const Fault *f)
{
    return f->space == SPACE_GLOBAL || f->space == SPACE_SCALAR;
}

static bool touches_memory(const Fault *f)
{
    return f->kind == OUTCOME_OUT_OF_BOUNDS || f->kind == OUTCOME_MISALIGNED || f->kind == OUTCOME_READ_ONLY ||
           f->kind >= OUTCOME_USE_AFTER_FREE;
}

void report_variable(const CodeObject *c, u64 address, Block *near)
{
    static _Thread_local char quoted[LONGEST_NAME];
    const Symbol *v = code_object_variable(c, address, near->address, near->bytes);
    if (!v)
        return;
    snprintf(quoted, sizeof quoted, "`%.*s`", LONGEST_NAME - 3, v->name);
    *near = (Block){v->address, v->bytes, quoted, near->live, near->number};
}

/* The block, region or variable that an address of memory lies in or missed. */
static bool nearest(const CodeObject *c, const Dispatch *d, const Fault *f, Block *near)
{
    if (!in_memory(f) || !memory_nearest(runtime()->memory, f->address, near))
        return false;
    bool hidden = f->kind == OUTCOME_OUT_OF_BOUNDS && d->explicit_bytes;
    if (near->address == d->dispatch_packet)
        *near = (Block){d->kernarg, hidden ? d->explicit_bytes : d->kernarg_bytes, ARGUMENTS, true, near->number};
    else
        report_variable(c, f->address, near);
    return true;
}

void report_region(FILE *out, const Block *near)
{
    char unnamed[32];
    snprintf(unnamed, sizeof unnamed, "allocation %u", near->number);
    fputs(",\"region\":", out);
    write_string(out, near->name && near->name[0] ? near->name : unnamed);
    fprintf(out, ",\"region_bytes\":%" PRIu64, near->bytes);
    report_allocation_calls(out, near->number);
}

/* Whether the process has memory there that is not the emulated GPU's: mostly a pointer of the host in an argument. */
static bool is_memory_of_the_host(u64 address)
{
    u64 arena, bytes;
    unsigned char resident;
    memory_arena(runtime()->memory, &arena, &bytes);
    return address - arena >= bytes && mincore((void *)(uintptr_t)(address & ~(u64)(PAGE - 1)), 1, &resident) == 0;
}

/* The addresses of the process are of no use to a reader: those of memory are told as an offset in a region. */
static void write_place(FILE *out, const CodeObject *c, const Dispatch *d, const Fault *f)
{
    Block near;
    fprintf(out, ",\"space\":\"%s\",\"address\":%" PRIu64 ",\"bytes\":%u,\"store\":%s", spaces[f->space], f->address,
            f->bytes, f->store ? "true" : "false");
    if (f->space == SPACE_LDS)
        fprintf(out, ",\"region_bytes\":%u", d->kernel.lds_bytes + d->dynamic_lds_bytes);
    if (in_memory(f) && is_memory_of_the_host(f->address))
        fputs(",\"host\":true", out);
    if (!nearest(c, d, f, &near))
        return;
    report_region(out, &near);
    fprintf(out, ",\"offset\":%" PRId64 ",\"region_live\":%s", (i64)(f->address - near.address),
            near.live ? "true" : "false");
}

static void write_callers(FILE *out, const CodeObject *c, const u64 *callers)
{
    fputs(",\"callers\":[", out);
    for (u32 k = 0; k < CALLERS && callers[k]; k++)
        fprintf(out, "%s%" PRIu64, k ? "," : "", callers[k] - c->base);
    fputc(']', out);
}

static void write_event(FILE *out, const CodeObject *c, const Dispatch *d, const Fault *f)
{
    fputs("{\"kind\":", out);
    write_string(out, outcome_name(f->kind));
    fprintf(out, ",\"pc\":%" PRIu64 ",\"workgroup\":[%u,%u,%u],\"wave\":%u,\"lane\":%u", f->pc - c->base,
            f->workgroup[0], f->workgroup[1], f->workgroup[2], f->wave, f->lane);
    write_callers(out, c, f->callers);
    if (touches_memory(f))
        write_place(out, c, d, f);
    fputs(",\"instruction\":", out);
    write_string(out, f->instruction);
}

static void write_standing(FILE *out, const CodeObject *c, const Outcome *o)
{
    fputs(",\"standing\":[", out);
    for (u32 k = 0; k < o->standing_count; k++) {
        const Standing *s = &o->standing[k];
        fprintf(out, "%s{\"pc\":%" PRIu64 ",\"workgroup\":[%u,%u,%u],\"wave\":%u,\"waves\":%" PRIu64, k ? "," : "",
                s->pc - c->base, s->workgroup[0], s->workgroup[1], s->workgroup[2], s->wave, s->waves);
        write_callers(out, c, s->callers);
        fprintf(out, ",\"at_barrier\":%s}", s->at_barrier ? "true" : "false");
    }
    fputc(']', out);
}

static void write_fault(FILE *out, const CodeObject *c, const Dispatch *d, const Outcome *o)
{
    fputs(",\"fault\":", out);
    if (o->fault.kind == OUTCOME_OK) {
        fputs("null", out);
        return;
    }
    write_event(out, c, d, &o->fault);
    if (o->standing_count)
        write_standing(out, c, o);
    fputc('}', out);
}

static const char *access_of(const Partner *p) { return p->load ? p->store ? "update" : "load" : "store"; }

/* Work of another stream: a kernel and the place in its code, or a copy and the like. */
void report_work(FILE *out, const void *label, const Overlapping *o)
{
    const WorkLabel *l = label;
    fputs("{\"work\":", out);
    write_string(out, l->name);
    if (l->object_number)
        fprintf(out, ",\"object\":%u", l->object_number);
    fprintf(out, ",\"pc\":%" PRIu64 ",\"workgroup\":[0,0,0],\"wave\":0,\"lane\":0,\"access\":\"%s\",\"atomic\":false}",
            o->code, o->load ? o->store ? "update" : "load" : "store");
}

static void write_partner(FILE *out, const CodeObject *c, const Partner *p)
{
    if (p->work) {
        const Overlapping o = {p->work, p->pc - (u64)(uintptr_t)p->work, p->load, p->store};
        report_work(out, p->work, &o);
        return;
    }
    fprintf(out, "{\"pc\":%" PRIu64 ",\"workgroup\":[%u,%u,%u],\"wave\":%u,\"lane\":%u,\"access\":\"%s\",\"atomic\":%s,\"callers\":[%" PRIu64 "]}",
            p->pc - c->base, p->workgroup[0], p->workgroup[1], p->workgroup[2], p->wave, p->lane, access_of(p),
            p->atomic ? "true" : "false", (p->caller ? p->caller : p->pc) - c->base);
}

static void write_use(FILE *out, const CodeObject *c, const Finding *f)
{
    fprintf(out, ",\"use\":[%" PRIu64, f->use - c->base);
    for (u32 k = 0; k < CALLERS && f->use_callers[k]; k++)
        fprintf(out, ",%" PRIu64, f->use_callers[k] - c->base);
    fputc(']', out);
}

static void write_finding(FILE *out, const CodeObject *c, const Dispatch *d, const Finding *f)
{
    write_event(out, c, d, &f->fault);
    fprintf(out, ",\"count\":%" PRIu64 ",\"lanes\":%" PRIu64 ",\"off\":%" PRIu64 ",\"partner\":", f->times, f->lanes, f->off);
    if (f->fault.kind == OUTCOME_RACE)
        write_partner(out, c, &f->partner);
    else
        fputs("null", out);
    if (f->use)
        write_use(out, c, f);
    fputc('}', out);
}

static void write_findings(FILE *out, const CodeObject *c, const Dispatch *d, const Outcome *o)
{
    fputs(",\"findings\":[", out);
    for (u32 k = 0; k < o->finding_count; k++) {
        if (k)
            fputc(',', out);
        write_finding(out, c, d, &o->findings[k]);
    }
    fprintf(out, "],\"races_checked\":%s,\"races_in_part\":%s,\"schedule_seed\":%" PRIu64, d->check_races ? "true" : "false",
            o->races_in_part ? "true" : "false", d->schedule_seed);
}

/* Rows of the columns in which runner_answer.py reads them; instructions that did not run are left out. */
static void write_pcs(FILE *out, const CodeObject *c, const Outcome *o)
{
    const char *comma = "";
    fputc('[', out);
    for (u64 i = 0; i < o->pc_count; i++) {
        const PcCounts *p = &o->pcs[i];
        const u64 columns[] = {p->address - c->base, p->executions, p->lanes, p->bytes, p->divergent, p->lines,
                               p->l1_hits, p->l2_hits, p->l2_misses, p->lds_cycles, p->lds_conflicts, p->lines_stored};
        if (!p->executions)
            continue;
        fprintf(out, "%s[", comma);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
            fprintf(out, "%s%" PRIu64, k ? "," : "", columns[k]);
        fputc(']', out);
        comma = ",";
    }
    fputc(']', out);
}

static void write_counts(FILE *out, const CodeObject *c, const Outcome *o)
{
    fputs(",\"counters\":{", out);
    for (int i = 0; i < (o->memory_counted ? COUNTER_COUNT : FIRST_MEMORY_COUNTER); i++)
        fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", counter_name(i), o->counters[i]);
    fputs("},\"pcs\":", out);
    if (o->pcs)
        write_pcs(out, c, o);
    else
        fputs("null", out);
}

static void write_line(FILE *out, const Function *f, const Dispatch *d, const Outcome *o)
{
    fputs("{\"kernel\":", out);
    write_string(out, f->kernel->name);
    fprintf(out, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"lds_bytes\":%u,\"seconds\":%.6f", d->workgroups[0],
            d->workgroups[1], d->workgroups[2], d->block[0], d->block[1], d->block[2],
            d->kernel.lds_bytes + d->dynamic_lds_bytes, o->seconds);
    write_counts(out, f->object, o);
    write_fault(out, f->object, d, o);
    write_findings(out, f->object, d, o);
    fprintf(out, ",\"object\":%u}\n", f->object->number);
}

/* The code object of which something is told, once: its debug data name the lines. */
static void write_object(CodeObject *c)
{
    char path[4096];
    if (!c->file)
        return;
    snprintf(path, sizeof path, "%s/%u.co", runtime()->objects_path, c->number);
    FILE *out = fopen(path, "wb");
    if (out) {
        fwrite(c->file, 1, c->file_bytes, out);
        fclose(out);
    }
    free(c->file);
    c->file = NULL;
}

/* Why an address is no offset that went wrong, as one is that lies within FAR of a block; NULL when it may be. */
static const char *foreign_place(const Block *near, u64 address)
{
    u64 end = near->address + near->bytes;
    u64 distance = address < near->address ? near->address - address : address < end ? 0 : address - end;
    if (distance <= PAGE)
        return NULL;
    if (address < NULL_BYTES)
        return "a null pointer or near to one";
    if (is_memory_of_the_host(address))
        return "which is memory of the host that was neither allocated by HIP nor registered";
    if (near->name && !strcmp(near->name, ARGUMENTS))
        return "which belongs to no allocation";
    return distance > FAR ? "far from every allocation" : NULL;
}

/* As the source has it; NULL where the name is plain C, or the program lacks C++'s run time. The caller frees it. */
static char *name_in_source(const char *symbol)
{
    typedef char *Demangle(const char *, char *, size_t *, int *);
    Demangle *demangle = (Demangle *)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    bool mangled = !strncmp(symbol, "_Z", 2); /* without it, f is a float */
    return demangle && mangled ? demangle(symbol, NULL, NULL, NULL) : NULL;
}

static void tell_name(const Block *near)
{
    char symbol[LONGEST_NAME];
    if (!near->name || !near->name[0])
        fprintf(stderr, "allocation %u", near->number);
    else if (sscanf(near->name, "`%511[^`]", symbol) != 1)
        fprintf(stderr, "%s", near->name);
    else {
        char *name = name_in_source(symbol);
        fprintf(stderr, "`%s`", name ? name : symbol);
        free(name);
    }
}

/* The place of an access, for a person: "offset 4096 of x, which has 4096 bytes". */
static void tell_place(const CodeObject *c, const Dispatch *d, const Fault *f)
{
    Block near;
    if (!nearest(c, d, f, &near)) {
        fprintf(stderr, "offset %" PRIu64 " of the %s", f->address,
                f->space == SPACE_LDS ? "workgroup's LDS" : "work-item's scratch");
        return;
    }
    const char *foreign = foreign_place(&near, f->address);
    if (foreign) {
        fprintf(stderr, "address 0x%" PRIx64 ", %s", f->address, foreign);
        return;
    }
    fprintf(stderr, "offset %" PRId64 " of ", (i64)(f->address - near.address));
    tell_name(&near);
    fprintf(stderr, ", which has %" PRIu64 " bytes%s", near.bytes, near.live ? "" : " and was freed");
}

static void tell(const Function *f, const Dispatch *d, const Fault *fault)
{
    char *name = name_in_source(f->kernel->name);
    fprintf(stderr, "amdkernel emulator: %s in kernel %s, workgroup (%u, %u, %u), wave %u, lane %u: %s\n",
            outcome_name(fault->kind), name ? name : f->kernel->name, fault->workgroup[0], fault->workgroup[1],
            fault->workgroup[2], fault->wave, fault->lane, fault->instruction);
    free(name);
    if (!touches_memory(fault))
        return;
    fprintf(stderr, "amdkernel emulator: %s of %u bytes of %s memory at ", fault->store ? "store" : "load", fault->bytes,
            spaces[fault->space]);
    tell_place(f->object, d, fault);
    fputc('\n', stderr);
}

static void tell_finding(const Function *f, const Dispatch *d, const Finding *finding)
{
    const Partner *p = &finding->partner;
    tell(f, d, &finding->fault);
    const WorkLabel *l = p->work;
    if (l)
        fprintf(stderr, "amdkernel emulator: it races with %s of another stream\n", l->name);
    else if (finding->fault.kind == OUTCOME_RACE)
        fprintf(stderr, "amdkernel emulator: it races with the %s at pc 0x%" PRIx64 " by workgroup (%u, %u, %u), wave %u, lane %u\n",
                access_of(p), p->pc - f->object->base, p->workgroup[0], p->workgroup[1], p->workgroup[2], p->wave,
                p->lane);
    if (finding->off)
        fprintf(stderr, "amdkernel emulator: %" PRIu64 " bytes beyond it at most, which a GPU lets pass\n",
                finding->off);
    if (finding->times > 1)
        fprintf(stderr, "amdkernel emulator: and %" PRIu64 " more times there\n", finding->times - 1);
}

static void tell_all(const Function *f, const Dispatch *d, const Outcome *o)
{
    if (o->fault.kind != OUTCOME_OK)
        tell(f, d, &o->fault);
    for (u32 k = 0; k < o->finding_count; k++)
        tell_finding(f, d, &o->findings[k]);
}

/* A program that overruns its memory does so in each of a thousand launches: what was told once is left out. */
static void leave_out_told(Outcome *o)
{
    enum { MOST = 64 };
    static u64 told[MOST];
    static u32 told_count;
    u32 kept = 0;
    for (u32 k = 0; k < o->finding_count; k++) {
        u64 pc = o->findings[k].fault.pc;
        u32 at = 0;
        while (at < told_count && told[at] != pc)
            at++;
        if (at < told_count || told_count == MOST)
            continue;
        told[told_count++] = pc;
        o->findings[kept++] = o->findings[k];
    }
    o->finding_count = kept;
}

FILE *report_open(void)
{
    FILE *out = fopen(runtime()->report_path, "a");
    if (!out)
        fprintf(stderr, "amdkernel emulator: AMDKERNEL_EMULATOR_REPORT: cannot write %s\n", runtime()->report_path);
    return out;
}

void report_objects_of(const void *label)
{
    const WorkLabel *l = label;
    if (l && l->object)
        write_object(l->object);
}

void report_dispatch(const Function *f, const Dispatch *d, Outcome *o)
{
    if (d->overruns)
        leave_out_told(o);
    if (!runtime()->report_path) {
        tell_all(f, d, o);
        return;
    }
    if (d->overruns && o->fault.kind != OUTCOME_OK && !o->standing_count)
        tell(f, d, &o->fault);
    if (d->overruns && !o->finding_count && o->fault.kind == OUTCOME_OK)
        return;
    FILE *out = report_open();
    if (!out)
        return;
    write_line(out, f, d, o);
    fclose(out);
    if (o->fault.kind != OUTCOME_OK || o->finding_count)
        write_object(f->object);
    for (u32 k = 0; k < o->finding_count; k++)
        report_objects_of(o->findings[k].partner.work);
}

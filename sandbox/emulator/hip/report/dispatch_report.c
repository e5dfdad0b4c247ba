/* The JSON line of a dispatch. */
#include "hip/report/dispatch_report.h"

#include "hip/report/output.h"
#include "hip/report/region.h"
#include "hip/report/sentences.h"
#include "hip/report/work_label.h"
#include "hip/runtime/runtime.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Addresses of the process do not help a reader: those of memory are reported as an offset in a region. */
static void write_place(FILE *out, const CodeObject *c, const Dispatch *d, const Fault *f)
{
    Block near;
    fprintf(out, ",\"space\":\"%s\",\"address\":%" PRIu64 ",\"bytes\":%u,\"store\":%s", report_space[f->space], f->address,
            f->bytes, f->store ? "true" : "false");
    if (f->space == SPACE_LDS)
        fprintf(out, ",\"region_bytes\":%u", d->kernel.lds_bytes + d->dynamic_lds_bytes);
    if (report_is_in_memory(f) && report_is_host_memory(f->address))
        fputs(",\"host\":true", out);
    if (!report_nearest(c, d, f, &near))
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
    report_string(out, outcome_name(f->kind));
    fprintf(out, ",\"pc\":%" PRIu64 ",\"workgroup\":[%u,%u,%u],\"wave\":%u,\"lane\":%u", f->pc - c->base,
            f->workgroup[0], f->workgroup[1], f->workgroup[2], f->wave, f->lane);
    write_callers(out, c, f->callers);
    if (report_touches_memory(f))
        write_place(out, c, d, f);
    fputs(",\"instruction\":", out);
    report_string(out, f->instruction);
}

static void write_standing(FILE *out, const CodeObject *c, const Outcome *o)
{
    fputs(",\"standing\":[", out);
    for (u32 k = 0; k < o->standing_count; k++) {
        const Standing *s = &o->standing[k];
        fprintf(out, "%s{\"pc\":%" PRIu64 ",\"workgroup\":[%u,%u,%u],\"wave\":%u,\"waves\":%" PRIu64, k ? "," : "",
                s->pc - c->base, s->workgroup[0], s->workgroup[1], s->workgroup[2], s->wave, s->waves);
        write_callers(out, c, s->callers);
        if (s->takes)
            fprintf(out, ",\"takes\":%" PRIu64, s->takes - c->base);
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
    if (o->standing_count) {
        write_standing(out, c, o);
        fprintf(out, ",\"standstill\":%s,\"timed\":%s,\"started\":%" PRIu64 ",\"fit\":%" PRIu64,
                o->standstill ? "true" : "false", o->process_ends ? "true" : "false", o->started, o->fit);
        if (o->fit_by)
            fprintf(out, ",\"fit_by\":\"%s\"", o->fit_by);
    }
    fputc('}', out);
}

static void write_partner(FILE *out, const CodeObject *c, const Partner *p)
{
    if (p->work) {
        const Overlapping o = {p->work, p->pc - (u64)(uintptr_t)p->work, p->load, p->store};
        report_work_label(out, p->work, &o);
        return;
    }
    fprintf(out, "{\"pc\":%" PRIu64 ",\"workgroup\":[%u,%u,%u],\"wave\":%u,\"lane\":%u,\"access\":\"%s\",\"atomic\":%s,\"callers\":[%" PRIu64 "]}",
            p->pc - c->base, p->workgroup[0], p->workgroup[1], p->workgroup[2], p->wave, p->lane, report_access(p->load, p->store),
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
    if (f->fault.space == SPACE_REGISTER) {
        char name[16];
        report_register(&f->fault, name, sizeof name);
        fprintf(out, ",\"registers\":\"%s\"", name);
    }
    if (f->fault.kind == OUTCOME_MISSING_WAIT)
        fprintf(out, ",\"store\":%s,\"registers\":\"%s\",\"remedy\":\"%s\"", f->fault.store ? "true" : "false", f->registers,
                f->remedy);
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
    fprintf(out, "],\"races_checked\":%s,\"race_groups\":%" PRIu64 ",\"race_own_group\":%s,\"races_in_part\":%s,\"schedule_seed\":%" PRIu64,
            d->check_races ? "true" : "false", o->race_groups,
            o->race_own_group ? "true" : "false", o->races_in_part ? "true" : "false", d->schedule_seed);
}

/* One row per instruction that ran, in the columns that amdkernel_mcp/runner_protocol/records.py reads. */
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

/* FNV-1a over the instructions that ran and the number of the code object. */
static u64 ran_hash(const CodeObject *c, const Outcome *o)
{
    u64 hash = 0xcbf29ce484222325 ^ c->number;
    for (u64 i = 0; i < o->ran_count; i++) {
        const u64 words[] = {o->ran[i].first - c->base, o->ran[i].last - c->base, o->ran[i].idle};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            hash = (hash ^ words[k]) * 0x100000001b3;
    }
    return hash;
}

/* Whether a process has reported the same instructions before: the reader adds up all dispatches. */
static bool is_reported(u64 hash)
{
    enum { MOST = 1024 };
    static u64 known[MOST];
    static u32 known_count;
    static pid_t process;
    if (process != getpid())
        known_count = 0; /* a child reports its own */
    process = getpid();
    for (u32 k = 0; k < known_count; k++)
        if (known[k] == hash)
            return true;
    if (known_count < MOST)
        known[known_count++] = hash;
    return false;
}

/* In the columns that amdkernel_mcp/runner_protocol/records.py reads. */
static void write_ran(FILE *out, const CodeObject *c, const Outcome *o)
{
    fputs(",\"ran\":[", out);
    for (u64 i = 0; i < o->ran_count; i++) {
        const RanSpan *s = &o->ran[i];
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%d]", i ? "," : "", s->first - c->base, s->last - c->base, s->idle);
    }
    fputc(']', out);
}

static void write_counts(FILE *out, const CodeObject *c, const Outcome *o)
{
    int end = !o->memory_counted ? FIRST_MEMORY_COUNTER : o->pcs ? COUNTER_COUNT : FIRST_SIMULATION_COUNTER;
    fputs(",\"counters\":{", out);
    for (int i = 0; i < end; i++)
        fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", counter_name(i), o->counters[i]);
    fputs("},\"pcs\":", out);
    if (o->pcs)
        write_pcs(out, c, o);
    else
        fputs("null", out);
}

/* Of a dispatch that was sampled, or of one that is too large to run in full and was not. Of an error of 0 nothing is said:
 * all workgroups that ran were alike in it. */
static void write_sample(FILE *out, const Dispatch *d, const Outcome *o)
{
    if (o->sampled) {
        const char *comma = "";
        fprintf(out, ",\"sampled\":{\"ran\":%" PRIu64 ",\"of\":%" PRIu64 ",\"errors\":{", o->sampled,
                (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2]);
        for (int i = 0; i < COUNTER_COUNT; i++) {
            if (o->sample_error[i] <= 0)
                continue;
            fprintf(out, "%s\"%s\":%.6g", comma, counter_name(i), o->sample_error[i]);
            comma = ",";
        }
        fputs("}}", out);
    }
    if (*o->not_sampled) {
        fputs(",\"not_sampled\":", out);
        report_string(out, o->not_sampled);
    }
}

static void write_line(FILE *out, const Function *f, const Dispatch *d, const Outcome *o, const double *span_us)
{
    fputs("{\"kernel\":", out);
    report_string(out, f->kernel->name);
    fprintf(out, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"lds_bytes\":%u,\"seconds\":%.6f", d->workgroups[0],
            d->workgroups[1], d->workgroups[2], d->block[0], d->block[1], d->block[2],
            d->kernel.lds_bytes + d->dynamic_lds_bytes, o->seconds);
    write_counts(out, f->object, o);
    if (o->ran && !is_reported(ran_hash(f->object, o)))
        write_ran(out, f->object, o);
    write_fault(out, f->object, d, o);
    write_findings(out, f->object, d, o);
    write_sample(out, d, o);
    if (span_us)
        fprintf(out, ",\"clock_us\":[%.3f,%.3f]", span_us[0], span_us[1]);
    fprintf(out, ",\"object\":%u}\n", f->object->number);
}

/* How often a process launched a kernel with a grid and a block. */
typedef struct {
    u32 object, workgroups[3], block[3];
    char kernel[256];
    u64 count, written;
} Launched;

static Launched *launched_as(const Function *f, const Dispatch *d)
{
    enum { MOST = 256 };
    static Launched known[MOST];
    static u32 known_count;
    static pid_t process;
    if (process != getpid())
        known_count = 0; /* a child counts its own */
    process = getpid();
    Launched wanted = {.object = f->object->number};
    snprintf(wanted.kernel, sizeof wanted.kernel, "%s", f->kernel->name);
    memcpy(wanted.workgroups, d->workgroups, sizeof wanted.workgroups);
    memcpy(wanted.block, d->block, sizeof wanted.block);
    for (u32 k = 0; k < known_count; k++)
        if (!memcmp(&known[k], &wanted, offsetof(Launched, kernel) + sizeof wanted.kernel))
            return &known[k];
    if (known_count == MOST)
        return NULL;
    known[known_count] = wanted;
    return &known[known_count++];
}

/* A program may launch a kernel a million times. Of each kernel, grid and block the first launches are reported with
 * their counts; then how many there were: each time up to a thousand, and after that in steps of less than 2 %. */
static bool is_only_counted(const Function *f, const Dispatch *d, const Outcome *o)
{
    enum { EXACT = 1024, STEPS = 64 };
    u64 kept = runtime()->options.kept_launches;
    if (!kept)
        return false;
    Launched *seen = launched_as(f, d);
    if (!seen)
        return o->fault.kind == OUTCOME_OK && !o->finding_count;
    if (++seen->count <= kept || o->fault.kind != OUTCOME_OK || o->finding_count)
        return false;
    if (seen->count > EXACT && seen->count - seen->written < seen->count / STEPS)
        return true;
    FILE *out = report_open();
    if (!out)
        return true;
    fputs("{\"again\":", out);
    report_string(out, f->kernel->name);
    fprintf(out, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"object\":%u,\"process\":%d,\"count\":%" PRIu64 "}\n",
            d->workgroups[0], d->workgroups[1], d->workgroups[2], d->block[0], d->block[1], d->block[2],
            f->object->number, (int)getpid(), seen->count);
    fclose(out);
    seen->written = seen->count;
    return true;
}

/* A program that overruns its memory does so in each of a thousand launches: a place is reported once. */
static void drop_reported(Outcome *o)
{
    enum { MOST = 64 };
    static u64 reported[MOST];
    static u32 reported_count;
    u32 kept = 0;
    for (u32 k = 0; k < o->finding_count; k++) {
        u64 pc = o->findings[k].fault.pc;
        u32 at = 0;
        while (at < reported_count && reported[at] != pc)
            at++;
        if (at < reported_count || reported_count == MOST)
            continue;
        reported[reported_count++] = pc;
        o->findings[kept++] = o->findings[k];
    }
    o->finding_count = kept;
}

void report_dispatch(const Function *f, const Dispatch *d, Outcome *o, const double *span_us)
{
    if (d->overruns)
        drop_reported(o);
    if (!runtime()->report_path) {
        report_sentences(f, d, o);
        return;
    }
    if (d->overruns && o->fault.kind != OUTCOME_OK && !o->standing_count)
        report_fault_sentence(f, d, &o->fault);
    bool is_well = o->fault.kind == OUTCOME_OK && !o->finding_count;
    if (d->overruns && is_well && !runtime()->options.kept_launches)
        return;
    if (is_only_counted(f, d, o))
        return;
    FILE *out = report_open();
    if (!out)
        return;
    write_line(out, f, d, o, span_us);
    fclose(out);
    if (runtime()->options.kept_launches || o->fault.kind != OUTCOME_OK || o->finding_count)
        report_object(f->object);
    for (u32 k = 0; k < o->finding_count; k++)
        report_work_object(o->findings[k].partner.work);
}

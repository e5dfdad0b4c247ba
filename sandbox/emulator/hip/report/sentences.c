/* Faults and findings as sentences on stderr, for a person. */
#define _GNU_SOURCE
#include "hip/report/sentences.h"

#include "hip/report/region.h"
#include "hip/report/work_label.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NULL_BYTES 65536ull
#define FAR (1ull << 40) /* an index of 32 bits that wraps stays nearer than that */
enum { LONGEST_NAME = 512 }; /* of a variable; the rest is left out */

/* What an address is if it is not a wrong offset: an offset is within FAR of a block. NULL: it may be one. */
static const char *foreign_place(const Block *near, u64 address)
{
    u64 end = near->address + near->bytes;
    u64 distance = address < near->address ? near->address - address : address < end ? 0 : address - end;
    if (distance <= REPORT_PAGE)
        return NULL;
    if (address < NULL_BYTES)
        return "a null pointer or close to one";
    if (report_is_host_memory(address))
        return "which is memory of the host that was neither allocated by HIP nor registered";
    if (near->name && !strcmp(near->name, REPORT_ARGUMENTS))
        return "which belongs to no allocation";
    return distance > FAR ? "far from every allocation" : NULL;
}

/* The name in the source, which the caller frees; NULL if it is plain C, or the program has no C++ runtime. */
static char *name_in_source(const char *symbol)
{
    typedef char *Demangle(const char *, char *, size_t *, int *);
    Demangle *demangle = (Demangle *)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    bool mangled = !strncmp(symbol, "_Z", 2); /* without it, f is a float */
    return demangle && mangled ? demangle(symbol, NULL, NULL, NULL) : NULL;
}

static void print_name(const Block *near)
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
static void print_place(const CodeObject *c, const Dispatch *d, const Fault *f)
{
    Block near;
    if (f->space == SPACE_REGISTER) {
        char name[16];
        report_register(f, name, sizeof name);
        fputs(name, stderr);
        return;
    }
    if (!report_nearest(c, d, f, &near)) {
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
    print_name(&near);
    fprintf(stderr, ", which has %" PRIu64 " bytes%s", near.bytes, near.live ? "" : " and was freed");
}

void report_fault_sentence(const Function *f, const Dispatch *d, const Fault *fault)
{
    char *name = name_in_source(f->kernel->name);
    fprintf(stderr, "amdkernel emulator: %s in kernel %s, workgroup (%u, %u, %u), wave %u, lane %u: %s\n",
            outcome_name(fault->kind), name ? name : f->kernel->name, fault->workgroup[0], fault->workgroup[1],
            fault->workgroup[2], fault->wave, fault->lane, fault->instruction);
    free(name);
    if (!report_touches_memory(fault))
        return;
    fprintf(stderr, "amdkernel emulator: %s of %u bytes of %s memory at ", fault->store ? "store" : "load", fault->bytes,
            report_space[fault->space]);
    print_place(f->object, d, fault);
    fputc('\n', stderr);
}

static void print_finding(const Function *f, const Dispatch *d, const Finding *finding)
{
    const Partner *p = &finding->partner;
    report_fault_sentence(f, d, &finding->fault);
    const WorkLabel *l = p->work;
    if (l)
        fprintf(stderr, "amdkernel emulator: it races with %s of another stream\n", l->name);
    else if (finding->fault.kind == OUTCOME_RACE)
        fprintf(stderr, "amdkernel emulator: it races with the %s at pc 0x%" PRIx64 " by workgroup (%u, %u, %u), wave %u, lane %u\n",
                report_access(p->load, p->store), p->pc - f->object->base, p->workgroup[0], p->workgroup[1], p->workgroup[2], p->wave,
                p->lane);
    if (finding->remedy[0])
        fprintf(stderr, "amdkernel emulator: %s used before %s\n", finding->registers[0] ? finding->registers : "LDS", finding->remedy);
    if (finding->off)
        fprintf(stderr, "amdkernel emulator: up to %" PRIu64 " bytes beyond it, which a GPU does not notice\n",
                finding->off);
    if (finding->times > 1)
        fprintf(stderr, "amdkernel emulator: and %" PRIu64 " more times there\n", finding->times - 1);
}

void report_sentences(const Function *f, const Dispatch *d, const Outcome *o)
{
    if (o->fault.kind != OUTCOME_OK)
        report_fault_sentence(f, d, &o->fault);
    for (u32 k = 0; k < o->finding_count; k++)
        print_finding(f, d, &o->findings[k]);
}

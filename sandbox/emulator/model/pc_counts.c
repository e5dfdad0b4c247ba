/*
 * Counts of a program's instructions. A program may have a million of them, a dispatch may run fifty: so pages of counts
 * that nothing has touched are skipped, and cost neither memory nor time.
 */
#include "model/pc_counts.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PER_PAGE = PAGE / sizeof(PcExecutions), PAGES_AT_ONCE = 256 };

static size_t bytes_of(u32 count) { return ((size_t)count * sizeof(PcExecutions) + PAGE) / PAGE * PAGE; }

PcExecutions *pc_counts_create(u32 count)
{
    void *p = mmap(NULL, bytes_of(count), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void pc_counts_destroy(PcExecutions *pc_counts, u32 count)
{
    if (pc_counts)
        munmap(pc_counts, bytes_of(count));
}

/* What is not known counts as touched: on a system with other pages, or one that does not report it. */
static void pages_touched(const PcExecutions *pc_counts, u32 first, u32 pages, u8 *out)
{
    if (sysconf(_SC_PAGESIZE) != PAGE || mincore((u8 *)(uintptr_t)pc_counts + (size_t)first * PAGE, (size_t)pages * PAGE, out))
        memset(out, 1, pages);
}

void pc_counts_sum(PcExecutions *pc_counts, u32 count)
{
    u8 touched[PAGES_AT_ONCE];
    u32 pages = (count + PER_PAGE - 1) / PER_PAGE;
    PcExecutions sum = {0};
    for (u32 p = 0; p < pages; p++) {
        if (p % PAGES_AT_ONCE == 0)
            pages_touched(pc_counts, p, pages - p < PAGES_AT_ONCE ? pages - p : PAGES_AT_ONCE, touched);
        if (!touched[p % PAGES_AT_ONCE] && !sum.executions)
            continue; /* no run goes through it */
        for (u32 n = p * PER_PAGE; n < (p + 1) * PER_PAGE && n < count; n++) {
            sum.executions += pc_counts[n].executions;
            sum.lanes += pc_counts[n].lanes;
            pc_counts[n] = sum;
        }
    }
}

void pc_counts_visit(const PcExecutions *pc_counts, u32 count, PcCountsVisitor *visit, void *context)
{
    u8 touched[PAGES_AT_ONCE];
    u32 pages = (count + PER_PAGE - 1) / PER_PAGE;
    for (u32 first = 0; first < pages; first += PAGES_AT_ONCE) {
        u32 some = pages - first < PAGES_AT_ONCE ? pages - first : PAGES_AT_ONCE;
        pages_touched(pc_counts, first, some, touched);
        for (u32 p = 0; p < some; p++) {
            u32 from = (first + p) * PER_PAGE, to = from + PER_PAGE < count ? from + PER_PAGE : count;
            for (u32 n = from; touched[p] && n < to; n++)
                if (pc_counts[n].executions)
                    visit(context, n, pc_counts[n]);
        }
    }
}

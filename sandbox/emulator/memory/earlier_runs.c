/*
 * Static memory of code objects that outlives a run: which bytes of it kernels stored, in which run, and what they held
 * before the first such store. A run is what lies between two calls of memory_begin_run().
 */
#include <sys/mman.h>

#include "memory/arena.h"

enum { RUNS = 255 }; /* after so many the numbers begin again, which can only hide something */

void memory_begin_run(Memory *m)
{
    pthread_mutex_lock(&m->lock);
    m->run = (u8)(m->run % RUNS + 1);
    pthread_mutex_unlock(&m->lock);
}

static u8 *reserve(u64 bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void memory_watch_variables(Memory *m, u64 address, u64 bytes)
{
    pthread_mutex_lock(&m->lock);
    Variables *v = m->variables_count < MOST_VARIABLES && bytes ? &m->variables[m->variables_count] : NULL;
    if (v) {
        *v = (Variables){.low = address, .high = address + bytes, .run = reserve(bytes), .first = reserve(bytes)};
        m->variables_count += v->run && v->first;
    }
    pthread_mutex_unlock(&m->lock);
}

void memory_forget_variables(Memory *m, u64 address, u64 bytes)
{
    u32 kept = 0;
    for (u32 k = 0; k < m->variables_count; k++) {
        Variables v = m->variables[k];
        if (v.low - address >= bytes) {
            m->variables[kept++] = v;
            continue;
        }
        munmap(v.run, v.high - v.low);
        munmap(v.first, v.high - v.low);
    }
    m->variables_count = kept;
}

static const Variables *variables_at(const Memory *m, u64 address, u32 bytes)
{
    for (u32 k = 0; k < m->variables_count; k++)
        if (address >= m->variables[k].low && address + bytes <= m->variables[k].high)
            return &m->variables[k];
    return NULL;
}

bool memory_any_variables(const Memory *m) { return m->run && m->variables_count; }

bool memory_has_variables(const Memory *m, u64 low, u64 high)
{
    for (u32 k = 0; m->run && k < m->variables_count; k++)
        if (low < m->variables[k].high && high > m->variables[k].low)
            return true;
    return false;
}

void memory_stores_variable(Memory *m, u64 address, u32 bytes)
{
    const Variables *v = variables_at(m, address, bytes);
    for (u32 b = 0; v && b < bytes; b++) {
        u64 at = address + b - v->low;
        if (!__atomic_load_n(&v->run[at], __ATOMIC_ACQUIRE))
            v->first[at] = *(const u8 *)(address + b);
        __atomic_store_n(&v->run[at], m->run, __ATOMIC_RELEASE);
    }
}

bool memory_from_earlier_run(const Memory *m, u64 address, u32 bytes)
{
    const Variables *v = variables_at(m, address, bytes);
    for (u32 b = 0; v && b < bytes; b++) {
        u64 at = address + b - v->low;
        u8 run = __atomic_load_n(&v->run[at], __ATOMIC_ACQUIRE);
        if (run && run != m->run && v->first[at] != *(const u8 *)(address + b))
            return true;
    }
    return false;
}

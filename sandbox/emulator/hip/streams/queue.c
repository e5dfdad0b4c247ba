#include "hip/streams/queue.h"

#include "hip/launch/launch.h"
#include "hip/runtime/fault.h"
#include "hip/streams/stream_order.h"
#include "hip/work/run.h"
#include "hip/work/values.h"
#include "hip/work/work_races.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { GRACE_MS = 50, POLL_US = 200, LAST_WAIT_MS = 5000 };

typedef struct Item {
    Work work;
    Stream *stream;
    hipStream_t handle;
    u64 ticket;          /* the order of submission to all streams */
    Mark *mark;
    Turn *turn;          /* its place among the work of other streams; NULL: not followed */
    Launch *launch;      /* of a kernel that has started */
    bool running, done;
    bool records;        /* it reaches the mark when it ends */
    bool awaited;        /* a call waits for it, and frees it */
    hipError_t error;
    struct Item *next;
} Item;

static u64 last_ticket;
static u32 outstanding;  /* items of all streams */
static _Thread_local bool is_stream_thread;

/* After fork() the child has one thread only: the work of the others belongs to the parent. */
static void drop_items(Stream *s, void *context)
{
    (void)context;
    s->first = s->last = NULL;
    s->has_thread = false;
}

static void in_child(void)
{
    outstanding = 0;
    stream_list_each(drop_items, NULL);
}

static void prepare(void) { pthread_atfork(NULL, NULL, in_child); }

static struct timespec in_future(long us)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += us % 1000000 * 1000;
    t.tv_sec += us / 1000000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* ---- which item may start ---- */

typedef struct {
    const Stream *stream;
    u64 ticket;
    bool found;
} Search;

static void look_for_earlier(Stream *s, void *context)
{
    Search *search = context;
    bool earlier = s->first && s->first->ticket <= search->ticket;
    search->found |= earlier && (s == search->stream || stream_list_are_ordered(s, search->stream));
}

/* An item submitted up to `ticket` is not done yet, in this stream or one that it is ordered with. */
static bool has_earlier(const Stream *s, u64 ticket)
{
    Search search = {.stream = s, .ticket = ticket};
    if (outstanding)
        stream_list_each(look_for_earlier, &search);
    return search.found;
}

static void look_for_null(Stream *s, void *context)
{
    Search *search = context;
    bool earlier = s->first && s->first->ticket < search->ticket;
    search->found |= earlier && s != search->stream && stream_list_are_ordered(s, search->stream);
}

static bool may_start(const Item *i)
{
    Search search = {.stream = i->stream, .ticket = i->ticket};
    if (i->stream->first != i || i->running)
        return false;
    if (outstanding > 1)
        stream_list_each(look_for_null, &search);
    if (search.found)
        return false;
    if (i->work.kind == WORK_WAIT)
        return !i->mark || i->mark->reached;
    return i->work.kind != WORK_WAIT_VALUE || values_is_reached(&i->work.value);
}

static void append(Item *i)
{
    Stream *s = i->stream;
    i->ticket = ++last_ticket;
    outstanding++;
    if (s->first)
        s->last->next = i;
    else
        s->first = i;
    s->last = i;
}

/* The first item of its stream is done. A call that waits for it frees it. */
static void finish(Item *i)
{
    Stream *s = i->stream;
    s->first = i->next;
    if (!s->first)
        s->last = NULL;
    outstanding--;
    if (i->records)
        mark_reach(i->mark);
    mark_drop(i->mark);
    stream_order_finish(s, i->work.kind, i->turn);
    i->done = true;
    stream_list_changed();
}

void queue_free_if_ended(Stream *s)
{
    if (!s->ended || s->first || s->has_thread)
        return;
    stream_list_remove(s);
    stream_order_forget(s);
    free(s->units);
    free(s);
}

/* ---- running an item ---- */

/* True when it has ended. A kernel is left running after `patience_s`; below 0: never. */
static bool run(Item *i, double patience_s)
{
    work_races_now(i->turn);
    if (i->work.kind != WORK_KERNEL) {
        i->error = run_work(&i->work, i->handle);
        work_races_now(NULL);
        return true;
    }
    const KernelWork *k = &i->work.kernel;
    if (!i->launch)
        i->error = launch_begin(k->function, &k->shape, k->parameters, k->extra, &i->launch);
    work_races_now(NULL);
    return !i->launch || launch_continue(i->launch, patience_s);
}

/* Runs the first item in the stream's thread. */
static void run_first(Stream *s)
{
    Item *i = s->first;
    i->running = true;
    stream_list_unlock();
    runtime_set_device(s->device);
    run(i, -1);
    WorkKind kind = i->work.kind;
    work_drop(&i->work);
    i->work.kind = kind;
    stream_list_lock();
    bool awaited = i->awaited;
    if (!awaited)
        fault_latch(i->error);
    finish(i);
    if (!awaited)
        free(i);
}

static void *do_work(void *stream)
{
    Stream *s = stream;
    is_stream_thread = true;
    stream_list_lock();
    while (s->first) {
        if (may_start(s->first)) {
            run_first(s);
        } else if (s->first->work.kind == WORK_WAIT_VALUE) { /* a change of memory does not wake the thread */
            struct timespec until = in_future(POLL_US);
            stream_list_wait(&until);
        } else {
            stream_list_wait(NULL);
        }
    }
    s->has_thread = false;
    queue_free_if_ended(s);
    stream_list_changed();
    stream_list_unlock();
    return NULL;
}

/* The thread blocks all signals: they are for the program's own threads. */
static bool start_thread(Stream *s)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, do_work, s) == 0 && pthread_detach(thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void start_if_needed(Stream *s)
{
    if (s->has_thread || !s->first)
        return;
    s->has_thread = start_thread(s);
    if (s->has_thread)
        return;
    fputs("amdkernel emulator: no thread can be started for a stream\n", stderr);
    abort(); /* otherwise the work would never end */
}

static bool is_for_host(WorkKind kind) { return kind == WORK_HOST || kind == WORK_CALLBACK; }

/* The kernel continues in the stream's thread; its arguments are copied already. */
static void hand_over(const Item *i)
{
    Stream *s = i->stream;
    Item *kept = malloc(sizeof *kept);
    if (!kept)
        abort();
    *kept = *i;
    kept->running = false;
    kept->work.kernel.kept = NULL;
    s->first = kept;
    if (s->last == i)
        s->last = kept;
    start_if_needed(s);
}

static hipError_t run_here(Item *i, bool wait)
{
    int before = runtime_device();
    runtime_set_device(i->stream->device);
    bool ended = run(i, GRACE_MS / 1e3);
    runtime_set_device(before);
    hipError_t error = i->error;
    stream_list_lock();
    if (ended) {
        finish(i);
        if (wait)
            stream_order_host_knows(i->stream);
        start_if_needed(i->stream);
        queue_free_if_ended(i->stream);
    } else {
        hand_over(i);
    }
    stream_list_unlock();
    return error;
}

/* Waits until the item is done, and frees it. If not `forever`, only for a while: then its stream's thread frees it. */
static hipError_t await(Item *i, bool forever)
{
    struct timespec until = in_future(GRACE_MS * 1000);
    bool in_time = true;
    i->awaited = true;
    while (!i->done && in_time)
        in_time = stream_list_wait(forever ? NULL : &until);
    i->awaited = false;
    if (!i->done)
        return hipSuccess;
    if (forever)
        stream_order_host_knows(i->stream);
    hipError_t error = i->error;
    free(i);
    return error;
}

static hipError_t run_later(const Item *i, bool wait)
{
    Item *kept = calloc(1, sizeof *kept);
    hipError_t error = kept ? work_keep(&i->work, &kept->work) : hipErrorOutOfMemory;
    stream_list_lock();
    if (error == hipSuccess) {
        Work work = kept->work;
        *kept = *i;
        kept->work = work;
        append(kept);
        bool soon = is_for_host(i->work.kind) && may_start(kept);
        start_if_needed(i->stream);
        if (wait || soon)
            error = await(kept, wait);
    } else {
        if (i->records)
            mark_reach(i->mark);
        mark_drop(i->mark);
        free(i->turn);
        free(kept);
    }
    stream_list_unlock();
    return error;
}

hipError_t queue_submit(Stream *s, hipStream_t handle, const Work *w, Mark *mark, bool wait)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    Item now = {.work = *w, .stream = s, .handle = handle, .mark = mark, .records = w->kind == WORK_RECORD};
    stream_list_lock();
    now.turn = stream_order_submit(s, w->kind);
    if (w->kind == WORK_RECORD)
        mark->before = stream_order_record(s);
    else if (w->kind == WORK_WAIT && mark)
        stream_order_wait(s, mark->before);
    bool at_once = !s->first && !is_for_host(w->kind);
    if (at_once) {
        append(&now);
        now.running = at_once = may_start(&now);
    }
    if (!at_once && s->first == &now) { /* it cannot start: run_later() keeps a copy */
        s->first = s->last = NULL;
        outstanding--;
    }
    stream_list_unlock();
    return at_once ? run_here(&now, wait) : run_later(&now, wait);
}

/* ---- waiting ---- */

bool queue_is_idle(Stream *s)
{
    stream_list_lock();
    bool idle = !(s->is_null ? has_earlier(s, last_ticket) : s->first != NULL);
    if (idle)
        stream_order_host_knows(s);
    stream_list_unlock();
    return idle;
}

void queue_wait(Stream *s)
{
    stream_list_lock();
    u64 upto = last_ticket;
    while (s->is_null ? has_earlier(s, upto) : s->first && s->first->ticket <= upto)
        stream_list_wait(NULL);
    stream_order_host_knows(s);
    stream_list_unlock();
}

typedef struct {
    int device;  /* -1: all */
    u64 ticket;
    bool found;
} DeviceSearch;

static void look_on_device(Stream *s, void *context)
{
    DeviceSearch *search = context;
    bool here = search->device < 0 || s->device == search->device;
    search->found |= here && s->first && s->first->ticket <= search->ticket;
}

static bool device_has_earlier(int ordinal, u64 ticket)
{
    DeviceSearch search = {.device = ordinal, .ticket = ticket};
    if (outstanding)
        stream_list_each(look_on_device, &search);
    return search.found;
}

static void know_stream(Stream *s, void *ordinal)
{
    if (*(int *)ordinal < 0 || s->device == *(int *)ordinal)
        stream_order_host_knows(s);
}

void queue_wait_device(int ordinal)
{
    stream_list_lock();
    u64 upto = last_ticket;
    while (device_has_earlier(ordinal, upto))
        stream_list_wait(NULL);
    stream_list_each(know_stream, &ordinal);
    stream_list_unlock();
}

void queue_wait_all(void) { queue_wait_device(-1); }

/* A program may end without waiting. What its kernels print still appears, unless they take too long. */
__attribute__((destructor)) static void end_of_process(void)
{
    struct timespec until = in_future(LAST_WAIT_MS * 1000);
    bool in_time = true;
    stream_list_lock();
    while (outstanding && !is_stream_thread && in_time)
        in_time = stream_list_wait(&until);
    if (outstanding && !is_stream_thread)
        fprintf(stderr, "amdkernel emulator: the process ends, but %u items of work in its streams have not finished\n",
                outstanding);
    stream_list_unlock();
}

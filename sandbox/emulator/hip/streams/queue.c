#include "hip/streams/queue.h"

#include "hip/devices/device.h"
#include "hip/streams/stream_order.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { GRACE_MS = 50, POLL_US = 200, LAST_WAIT_MS = 5000 };

struct Mark {
    u32 holders;
    bool reached;
    struct timespec at;
    Ordered *before;     /* what comes before it; NULL: not followed */
};

typedef struct Item {
    Work work;
    Stream *stream;
    hipStream_t handle;
    u64 ticket;          /* the order of submission, over all streams */
    Mark *mark;
    Turn *turn;          /* among work of other streams; NULL: not followed */
    Launch *launch;      /* of a kernel that has begun */
    bool running, done;
    bool records;        /* its end reaches the mark */
    bool awaited;        /* somebody waits for it, and frees it */
    hipError_t error;
    struct Item *next;
} Item;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static u64 last_ticket;
static u32 outstanding;  /* items of all streams */
static _Thread_local bool tends; /* this thread is one of a stream */

static void make_condition(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* After fork() the child has no threads but one: what the others were doing is the parent's. */
static void begin_anew(Stream *s, void *context)
{
    (void)context;
    s->first = s->last = NULL;
    s->tended = false;
}

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    make_condition();
    outstanding = 0;
    stream_each(begin_anew, NULL);
}

static void prepare(void)
{
    make_condition();
    pthread_atfork(queue_lock, queue_unlock, in_child);
}

void queue_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
}

void queue_unlock(void) { pthread_mutex_unlock(&lock); }

static struct timespec in_future(long us)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += us % 1000000 * 1000;
    t.tv_sec += us / 1000000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* ---- marks ---- */

Mark *mark_new(void)
{
    Mark *m = calloc(1, sizeof *m);
    return m ? mark_share(m) : NULL;
}

Mark *mark_share(Mark *m)
{
    if (m)
        __atomic_add_fetch(&m->holders, 1, __ATOMIC_RELAXED);
    return m;
}

void mark_drop(Mark *m)
{
    if (!m || __atomic_sub_fetch(&m->holders, 1, __ATOMIC_ACQ_REL))
        return;
    free(m->before);
    free(m);
}

bool mark_is_reached(const Mark *m)
{
    queue_lock();
    bool reached = m->reached;
    if (reached)
        order_host_knows_event(m->before);
    queue_unlock();
    return reached;
}

void mark_wait(const Mark *m)
{
    queue_lock();
    while (!m->reached)
        pthread_cond_wait(&changed, &lock);
    order_host_knows_event(m->before);
    queue_unlock();
}

struct timespec mark_time(const Mark *m) { return m->at; }

/* ---- whose turn it is ---- */

static bool is_blocking(const Stream *s) { return !(s->flags & hipStreamNonBlocking); }

bool queue_are_ordered(const Stream *a, const Stream *b)
{
    return a->device == b->device && ((a->is_null && is_blocking(b)) || (b->is_null && is_blocking(a)));
}

typedef struct {
    const Stream *stream;
    u64 ticket;
    bool found;
} Search;

static void look_for_earlier(Stream *s, void *context)
{
    Search *search = context;
    bool earlier = s->first && s->first->ticket <= search->ticket;
    search->found |= earlier && (s == search->stream || queue_are_ordered(s, search->stream));
}

/* Something that was submitted up to `ticket` is not done yet, in this stream or one that it is ordered with. */
static bool has_earlier(const Stream *s, u64 ticket)
{
    Search search = {.stream = s, .ticket = ticket};
    if (outstanding)
        stream_each_locked(look_for_earlier, &search);
    return search.found;
}

static void look_for_null(Stream *s, void *context)
{
    Search *search = context;
    bool earlier = s->first && s->first->ticket < search->ticket;
    search->found |= earlier && s != search->stream && queue_are_ordered(s, search->stream);
}

static bool may_start(const Item *i)
{
    Search search = {.stream = i->stream, .ticket = i->ticket};
    if (i->stream->first != i || i->running)
        return false;
    if (outstanding > 1)
        stream_each_locked(look_for_null, &search);
    if (search.found)
        return false;
    if (i->work.kind == WORK_WAIT)
        return !i->mark || i->mark->reached;
    return i->work.kind != WORK_WAIT_VALUE || work_value_is_reached(&i->work.value);
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

static void reach(Mark *m)
{
    if (!m || m->reached)
        return;
    clock_gettime(CLOCK_MONOTONIC, &m->at);
    m->reached = true;
}

/* The first item of its stream has been done. Who waits for it frees it. */
static void finish(Item *i)
{
    Stream *s = i->stream;
    s->first = i->next;
    if (!s->first)
        s->last = NULL;
    outstanding--;
    if (i->records)
        reach(i->mark);
    mark_drop(i->mark);
    order_finish(s, i->work.kind, i->turn);
    i->done = true;
    pthread_cond_broadcast(&changed);
}

/* ---- doing it ---- */

/* True when it has ended. A kernel is given up after `patience_s`, below 0 never. */
static bool run(Item *i, double patience_s)
{
    order_now(i->turn);
    if (i->work.kind != WORK_KERNEL) {
        i->error = work_run(&i->work, i->handle);
        order_now(NULL);
        return true;
    }
    const KernelWork *k = &i->work.kernel;
    if (!i->launch)
        i->error = launch_begin(k->function, &k->shape, k->parameters, k->extra, &i->launch);
    order_now(NULL);
    return !i->launch || launch_continue(i->launch, patience_s);
}

/* The first item, by the stream's thread. */
static void run_first(Stream *s)
{
    Item *i = s->first;
    i->running = true;
    queue_unlock();
    set_current_device(s->device);
    run(i, -1);
    WorkKind kind = i->work.kind;
    work_drop(&i->work);
    i->work.kind = kind;
    queue_lock();
    bool awaited = i->awaited;
    if (!awaited)
        latch_fault(i->error);
    finish(i);
    if (!awaited)
        free(i);
}

static void *tend(void *stream)
{
    Stream *s = stream;
    tends = true;
    queue_lock();
    while (s->first) {
        if (may_start(s->first)) {
            run_first(s);
        } else if (s->first->work.kind == WORK_WAIT_VALUE) { /* nobody says when memory changes */
            struct timespec until = in_future(POLL_US);
            pthread_cond_timedwait(&changed, &lock, &until);
        } else {
            pthread_cond_wait(&changed, &lock);
        }
    }
    s->tended = false;
    stream_forget_if_ended(s);
    pthread_cond_broadcast(&changed);
    queue_unlock();
    return NULL;
}

/* Signals are the program's, for its own threads. */
static bool start_thread(Stream *s)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, tend, s) == 0 && pthread_detach(thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void see_to(Stream *s)
{
    if (s->tended || !s->first)
        return;
    s->tended = start_thread(s);
    if (s->tended)
        return;
    fputs("amdkernel emulator: no thread can be started for a stream\n", stderr);
    abort(); /* work that never ends is no answer */
}

static bool is_for_host(WorkKind kind) { return kind == WORK_HOST || kind == WORK_CALLBACK; }

/* The kernel goes on in the stream's thread; its arguments have been copied. */
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
    see_to(s);
}

static hipError_t run_here(Item *i, bool wait)
{
    int before = current_device();
    set_current_device(i->stream->device);
    bool ended = run(i, GRACE_MS / 1e3);
    set_current_device(before);
    hipError_t error = i->error;
    queue_lock();
    if (ended) {
        finish(i);
        if (wait)
            order_host_knows(i->stream);
        see_to(i->stream);
        stream_forget_if_ended(i->stream);
    } else {
        hand_over(i);
    }
    queue_unlock();
    return error;
}

/* Wait until the item is done, and free it; for a time only, then its stream's thread will. */
static hipError_t await(Item *i, bool forever)
{
    struct timespec until = in_future(GRACE_MS * 1000);
    int late = 0;
    i->awaited = true;
    while (!i->done && late != ETIMEDOUT)
        late = forever ? pthread_cond_wait(&changed, &lock) : pthread_cond_timedwait(&changed, &lock, &until);
    i->awaited = false;
    if (!i->done)
        return hipSuccess;
    if (forever)
        order_host_knows(i->stream);
    hipError_t error = i->error;
    free(i);
    return error;
}

static hipError_t run_later(const Item *i, bool wait)
{
    Item *kept = calloc(1, sizeof *kept);
    hipError_t error = kept ? work_keep(&i->work, &kept->work) : hipErrorOutOfMemory;
    queue_lock();
    if (error == hipSuccess) {
        Work work = kept->work;
        *kept = *i;
        kept->work = work;
        append(kept);
        bool soon = is_for_host(i->work.kind) && may_start(kept);
        see_to(i->stream);
        if (wait || soon)
            error = await(kept, wait);
    } else {
        if (i->records)
            reach(i->mark);
        mark_drop(i->mark);
        free(i->turn);
        free(kept);
    }
    queue_unlock();
    return error;
}

hipError_t queue_submit(Stream *s, hipStream_t handle, const Work *w, Mark *mark, bool wait)
{
    Item now = {.work = *w, .stream = s, .handle = handle, .mark = mark, .records = w->kind == WORK_RECORD};
    queue_lock();
    now.turn = order_submit(s, w->kind);
    if (w->kind == WORK_RECORD)
        mark->before = order_record(s);
    else if (w->kind == WORK_WAIT && mark)
        order_wait(s, mark->before);
    bool at_once = !s->first && !is_for_host(w->kind);
    if (at_once) {
        append(&now);
        now.running = at_once = may_start(&now);
    }
    if (!at_once && s->first == &now) { /* it cannot start: it is kept instead */
        s->first = s->last = NULL;
        outstanding--;
    }
    queue_unlock();
    return at_once ? run_here(&now, wait) : run_later(&now, wait);
}

/* ---- waiting ---- */

bool queue_is_idle(Stream *s)
{
    queue_lock();
    bool idle = !(s->is_null ? has_earlier(s, last_ticket) : s->first != NULL);
    if (idle)
        order_host_knows(s);
    queue_unlock();
    return idle;
}

void queue_wait(Stream *s)
{
    queue_lock();
    u64 upto = last_ticket;
    while (s->is_null ? has_earlier(s, upto) : s->first && s->first->ticket <= upto)
        pthread_cond_wait(&changed, &lock);
    order_host_knows(s);
    queue_unlock();
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
        stream_each_locked(look_on_device, &search);
    return search.found;
}

static void know_stream(Stream *s, void *ordinal)
{
    if (*(int *)ordinal < 0 || s->device == *(int *)ordinal)
        order_host_knows(s);
}

void queue_wait_device(int ordinal)
{
    queue_lock();
    u64 upto = last_ticket;
    while (device_has_earlier(ordinal, upto))
        pthread_cond_wait(&changed, &lock);
    stream_each_locked(know_stream, &ordinal);
    queue_unlock();
}

void queue_wait_all(void) { queue_wait_device(-1); }

/* A program may end without waiting: what it printed in kernels still comes out, unless it takes for ever. */
__attribute__((destructor)) static void end_of_process(void)
{
    struct timespec until = in_future(LAST_WAIT_MS * 1000);
    int late = 0;
    queue_lock();
    while (outstanding && !tends && late != ETIMEDOUT)
        late = pthread_cond_timedwait(&changed, &lock, &until);
    if (outstanding && !tends)
        fprintf(stderr, "amdkernel emulator: the process ends, %u items of work in its streams have not\n",
                outstanding);
    queue_unlock();
}

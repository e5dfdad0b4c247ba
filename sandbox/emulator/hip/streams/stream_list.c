#include "hip/streams/stream_list.h"

#include <errno.h>

static Stream *streams; /* all that programs and threads made; destroyed ones while they still have work */
static Stream null_streams[MAX_DEVICES];
static u64 last_id;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&changed, NULL);
}

static void prepare(void) { pthread_atfork(stream_list_lock, stream_list_unlock, in_child); }

void stream_list_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
}

void stream_list_unlock(void) { pthread_mutex_unlock(&lock); }

bool stream_list_wait(const struct timespec *until)
{
    if (!until)
        return pthread_cond_wait(&changed, &lock) == 0;
    return pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, until) != ETIMEDOUT;
}

void stream_list_changed(void) { pthread_cond_broadcast(&changed); }

void stream_list_each(void (*visit)(Stream *s, void *context), void *context)
{
    for (int k = 0; k < MAX_DEVICES; k++)
        if (null_streams[k].is_null)
            visit(&null_streams[k], context);
    for (Stream *s = streams; s; s = s->next)
        visit(s, context);
}

void stream_list_add(Stream *s)
{
    s->id = ++last_id;
    s->next = streams;
    streams = s;
}

void stream_list_remove(Stream *s)
{
    Stream **link = &streams;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
}

Stream *stream_list_null(int ordinal)
{
    Stream *s = &null_streams[ordinal];
    s->device = ordinal;
    s->is_null = true;
    return s;
}

Stream *stream_list_find(hipStream_t handle)
{
    Stream *s = streams;
    while (s && ((hipStream_t)s != handle || s->ended))
        s = s->next;
    return s;
}

static bool is_blocking(const Stream *s) { return !(s->flags & hipStreamNonBlocking); }

bool stream_list_are_ordered(const Stream *a, const Stream *b)
{
    return a->device == b->device && ((a->is_null && is_blocking(b)) || (b->is_null && is_blocking(a)));
}

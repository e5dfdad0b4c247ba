#include "hip/streams/stream.h"

#include "hip/streams/queue.h"
#include "hip/streams/stream_order.h"
#include "hip/work/work_races.h"

#include <stdlib.h>

static _Thread_local Stream *own_streams[MAX_DEVICES]; /* hipStreamPerThread */
static _Thread_local bool null_is_own;

static Stream *null_stream(void)
{
    if (runtime_device())
        work_races_begin();
    stream_list_lock();
    Stream *s = stream_list_null(runtime_device());
    stream_list_unlock();
    return s;
}

Stream *stream_create(unsigned flags, int priority)
{
    Stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    work_races_begin();
    *s = (Stream){.flags = flags, .priority = priority, .device = runtime_device()};
    stream_list_lock();
    stream_list_add(s);
    stream_list_unlock();
    return s;
}

void stream_destroy(Stream *s)
{
    stream_list_lock();
    s->ended = true;
    node_list_clear(&s->tail);
    queue_free_if_ended(s);
    stream_list_unlock();
}

/* A thread's streams are destroyed when it ends. */
static pthread_key_t own_key;

static void end_own(void *list)
{
    Stream **own = list;
    for (int k = 0; k < MAX_DEVICES; k++)
        if (own[k])
            stream_destroy(own[k]);
}

static void make_own_key(void) { pthread_key_create(&own_key, end_own); }

static Stream *own_stream(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    Stream **mine = &own_streams[runtime_device()];
    pthread_once(&once, make_own_key);
    pthread_setspecific(own_key, own_streams);
    if (!*mine)
        *mine = stream_create(hipStreamDefault, 0);
    return *mine;
}

void stream_null_is_own(bool own) { null_is_own = own; }

Stream *stream_find(hipStream_t stream)
{
    if (stream == hipStreamPerThread || (!stream && null_is_own))
        return own_stream();
    if (!stream || stream == hipStreamLegacy)
        return null_stream();
    stream_list_lock();
    Stream *s = stream_list_find(stream);
    stream_list_unlock();
    return s;
}

void stream_call_returned(hipStream_t stream)
{
    Stream *s = stream_find(stream);
    if (!s || !work_races_are_followed())
        return;
    stream_list_lock();
    stream_order_host_knows(s);
    stream_list_unlock();
}

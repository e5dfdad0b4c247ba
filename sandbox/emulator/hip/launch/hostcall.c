/*
 * Hostcall: a wave writes a packet to a buffer, rings a doorbell, and waits for the answer in the packet.
 * Source: ROCm device libraries, ockl/src/hostcall_impl.cl; AMD's runtime, devhostcall.hpp and devhcmessages.hpp.
 *
 * The thread that runs the wave serves the doorbell's interrupt, so the answer is complete before the wave reads it.
 */
#include "hip/launch/hostcall.h"

#include "hip/launch/device_heap.h"
#include "hip/launch/device_printf.h"

#include <stdlib.h>
#include <string.h>

enum { PACKETS = 1024, LANES_OF_PACKET = 64, WORDS_OF_LANE = 8 };
enum { SERVICE_FUNCTION = 1, SERVICE_PRINTF = 2, SERVICE_MEMORY = 3 };

typedef struct {
    u64 next, active;
    u32 service, control; /* bit 0 of control: the packet awaits its answer */
} PacketHeader;

typedef struct { u64 words[LANES_OF_PACKET][WORDS_OF_LANE]; } Payload;

/* What the device libraries expect at the hidden argument. Packets are named by index, with a tag above it. */
typedef struct {
    u64 headers, payloads, doorbell, free_packets, ready_packets, index_mask;
} Buffer;

/* amd_signal_t of the HSA runtime. Source: HSA Runtime Specification; amd_hsa_signal.h. */
typedef struct {
    i64 kind, value;
    u64 mailbox; /* not 0: ringing the doorbell sends an interrupt */
    u32 event, reserved;
    u64 start, end, queue, reserved2;
} Signal;

typedef struct {
    Buffer buffer;
    u64 padding[2];
    Signal doorbell;
    u64 mailbox[8];
    PacketHeader headers[PACKETS];
    Payload payloads[PACKETS];
} Hostcall;

static Hostcall *hostcall; /* in device memory */
static pthread_mutex_t serving = PTHREAD_MUTEX_INITIALIZER;

u64 hostcall_buffer(void)
{
    if (hostcall)
        return (u64)(uintptr_t)hostcall;
    u64 block = memory_allocate(runtime()->memory, sizeof *hostcall);
    if (!block)
        return 0;
    hostcall = (Hostcall *)(uintptr_t)block;
    memset(hostcall, 0, sizeof *hostcall);
    hostcall->doorbell = (Signal){.kind = 1, .value = 1, .mailbox = (u64)(uintptr_t)hostcall->mailbox};
    hostcall->buffer = (Buffer){
        .headers = (u64)(uintptr_t)hostcall->headers,
        .payloads = (u64)(uintptr_t)hostcall->payloads,
        .doorbell = (u64)(uintptr_t)&hostcall->doorbell,
        .free_packets = PACKETS - 1,
        .index_mask = PACKETS - 1,
    };
    for (u32 i = 1; i < PACKETS; i++) /* 0 would end the list, so packet 0 has the tag 1 */
        hostcall->headers[i].next = i == 1 ? PACKETS : i - 1;
    return block;
}

/* ---- messages: a lane's printf comes in several packets ---- */

typedef struct {
    u64 *words;
    size_t count, room;
    bool used;
} Message;

static Message *messages; /* the index is the message's number, which the first answer gives to the lane */
static size_t message_count;

enum { MESSAGE_BEGINS = 1, MESSAGE_ENDS = 2, LENGTH_SHIFT = 5, LENGTH_MASK = 7, NUMBER_SHIFT = 8 };

static Message *message_begin(u64 *description)
{
    size_t n = 0;
    while (n < message_count && messages[n].used)
        n++;
    if (n == message_count) {
        Message *more = realloc(messages, (message_count + 16) * sizeof *messages);
        if (!more)
            return NULL;
        memset(more + message_count, 0, 16 * sizeof *messages);
        messages = more;
        message_count += 16;
    }
    messages[n].used = true;
    messages[n].count = 0;
    *description = (*description & ((1 << NUMBER_SHIFT) - 1) & ~(u64)MESSAGE_BEGINS) | (u64)n << NUMBER_SHIFT;
    return &messages[n];
}

static bool message_add(Message *m, const u64 *words, size_t count)
{
    if (m->count + count > m->room) {
        u64 *more = realloc(m->words, (2 * m->room + 16) * sizeof *more);
        if (!more)
            return false;
        m->words = more;
        m->room = 2 * m->room + 16;
    }
    memcpy(m->words + m->count, words, count * sizeof *words);
    m->count += count;
    return true;
}

/* Bit 0 of the first word: print to stderr. */
static void print_message(Message *m, u64 *answer)
{
    bool known = m->count && !(m->words[0] & ~1ull);
    *answer = known ? (u64)device_printf(m->words[0] & 1 ? stderr : stdout, m->words + 1, m->count - 1) : ~0ull;
    m->used = false;
}

static void serve_printf(u64 *words)
{
    u64 description = words[0];
    Message *m = NULL;
    if (description & MESSAGE_BEGINS)
        m = message_begin(&words[0]);
    else if (description >> NUMBER_SHIFT < message_count && messages[description >> NUMBER_SHIFT].used)
        m = &messages[description >> NUMBER_SHIFT];
    if (!m || !message_add(m, words + 1, description >> LENGTH_SHIFT & LENGTH_MASK))
        words[0] = ~0ull;
    else if (description & MESSAGE_ENDS)
        print_message(m, &words[0]);
}

/* ---- services ---- */

static void serve_memory(u64 *words)
{
    if (words[0])
        device_heap_release(words[0]);
    else
        words[0] = device_heap_allocate(words[1]);
}

/* Calls a host function that a kernel names. AMD's runtime does so too, and only the program's own process is at risk. */
static void serve_function(u64 *words)
{
    u64 answer[2] = {0};
    void (*function)(u64 *out, const u64 *in);
    memcpy(&function, &words[0], sizeof function);
    function(answer, words + 1);
    memcpy(words, answer, sizeof answer);
}

static void serve_packet(u32 at)
{
    PacketHeader *h = &hostcall->headers[at];
    for (u32 lane = 0; lane < LANES_OF_PACKET; lane++) {
        u64 *words = hostcall->payloads[at].words[lane];
        if (!(h->active >> lane & 1))
            continue;
        if (h->service == SERVICE_PRINTF)
            serve_printf(words);
        else if (h->service == SERVICE_MEMORY)
            serve_memory(words);
        else if (h->service == SERVICE_FUNCTION)
            serve_function(words);
        else
            fprintf(stderr, "amdkernel emulator: a kernel requests hostcall service %u, which is not supported\n", h->service);
    }
    __atomic_and_fetch(&h->control, ~1u, __ATOMIC_RELEASE);
}

/* The list is in reverse, and a wave has one packet at most: served backwards, output is in the order of the requests. */
void hostcall_serve(void *unused)
{
    (void)unused;
    u32 order[PACKETS], count = 0;
    if (!hostcall)
        return;
    pthread_mutex_lock(&serving);
    u64 packet = __atomic_exchange_n(&hostcall->buffer.ready_packets, 0, __ATOMIC_ACQUIRE);
    for (; packet && count < PACKETS; packet = hostcall->headers[packet & (PACKETS - 1)].next)
        order[count++] = (u32)(packet & (PACKETS - 1));
    while (count)
        serve_packet(order[--count]);
    pthread_mutex_unlock(&serving);
}

/*
 * A crash inside survives() is a jump back to it; any other goes on to whoever handled it before.
 *
 * Handlers are the process's, which may be a HIP program with its own: they are ours only while something is at work.
 */
#include "decode/crash_recovery.h"

#include <pthread.h>
#include <setjmp.h>

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
enum { SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static u32 users;
static struct sigaction before[SIGNALS];

static _Thread_local sigjmp_buf *way_back;

static void on_fatal_signal(int number)
{
    if (way_back)
        siglongjmp(*way_back, 1);
    for (int k = 0; k < SIGNALS; k++)
        if (fatal_signals[k] == number)
            sigaction(number, &before[k], NULL);
    raise(number);
}

void crash_recovery_begin(CrashRecovery *r)
{
    sigaltstack(&(stack_t){.ss_sp = r->stack, .ss_size = sizeof r->stack}, &r->before);
    /* Not deferred: the jump out of the handler then leaves no signal blocked. */
    struct sigaction ours = {.sa_handler = on_fatal_signal, .sa_flags = SA_NODEFER | SA_ONSTACK};
    pthread_mutex_lock(&lock);
    for (int k = 0; !users && k < SIGNALS; k++)
        sigaction(fatal_signals[k], &ours, &before[k]);
    users++;
    pthread_mutex_unlock(&lock);
}

void crash_recovery_end(CrashRecovery *r)
{
    sigaltstack(&r->before, NULL);
    pthread_mutex_lock(&lock);
    users--;
    for (int k = 0; !users && k < SIGNALS; k++)
        sigaction(fatal_signals[k], &before[k], NULL);
    pthread_mutex_unlock(&lock);
}

bool crash_recovery_survives(void (*work)(void *context), void *context)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0)) {
        way_back = NULL;
        return false;
    }
    way_back = &here;
    work(context);
    way_back = NULL;
    return true;
}

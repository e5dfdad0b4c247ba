/* The part of the stand-in for rocprofv3 that is loaded into each process of the program (LD_PRELOAD).
 *
 * It keeps what the process launched when the process ends through exit: main returned, exit was called, or one of four
 * signals came. It keeps nothing after _exit or SIGKILL, and nothing of a forked child, as the real tool, whose state a
 * child inherits. A child that calls exec loads it again. Source: ROCm/rocm-systems, projects/rocprofiler-sdk/source/lib/
 * rocprofiler-sdk-tool/tool.cpp and main.c; pull request 5744 for forked children. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t owner;
static volatile sig_atomic_t is_kept;

static void keep(void)
{
    const char *launched = getenv("ROCPROFV3_IN_A_BOX_LAUNCHED"), *kept = getenv("ROCPROFV3_IN_A_BOX_KEPT");
    char from[4096], to[4096];
    if (!launched || !kept || getpid() != owner || is_kept)
        return;
    is_kept = 1;
    snprintf(from, sizeof from, "%s/%d", launched, (int)owner);
    snprintf(to, sizeof to, "%s/%d", kept, (int)owner);
    rename(from, to); /* there is none where the process used no GPU */
}

static void keep_and_end(int number)
{
    keep();
    signal(number, SIG_DFL);
    raise(number);
}

__attribute__((constructor)) static void begin(void)
{
    const int caught[] = {SIGINT, SIGQUIT, SIGABRT, SIGTERM};
    owner = getpid();
    atexit(keep);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        signal(caught[i], keep_and_end);
}

/* PID 1 of a sandbox container: starts the command, hands it what comes on stdin, reaps what it leaves behind, and
 * ends the container.
 *
 *     init GRACE_S LIFETIME_S COMMAND [ARGUMENT]...
 *
 * The container ends with the command. It also ends when its client goes away, which closes stdin, and when its time
 * is over: LIFETIME_S, then as many seconds as the number at the begin of stdin says. Then all get SIGTERM, because a
 * HIP process that is killed outright can leak VRAM, and GRACE_S later this process exits. Its exit is the SIGKILL of
 * all others, by the kernel, in one step that needs no free process and that a fork bomb cannot outrun. What cannot
 * work here exits as well: without its PID 1 nothing runs.
 *
 * The job has the same user as this process. What keeps it from stopping its PID 1:
 * - The kernel drops SIGKILL and SIGSTOP from inside the container. All other signals are blocked, and a SIGTERM counts
 *   only when it comes from outside.
 * - The seccomp profile forbids to change the priority and the limits of process 1: with SCHED_IDLE it hardly runs.
 * - /proc/1 belongs to root, because this process is not dumpable: its memory and its stdin cannot be opened.
 * - The command gets a pipe of ours as stdin. Who has the container's own stdin as a descriptor can open its other
 *   end through /proc and keep it open, and then the end of the client is never seen.
 * Sources: pid_namespaces(7), "The namespace init process"; proc_pid(5), on "dumpable"; kill(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 125, NOT_FOUND = 127, KILLED = 128 + SIGKILL };
static const double MOST_SECONDS = 1e6;

static pid_t command;
static int64_t grace_ms, end_ms; /* end_ms: when the present phase ends, on the clock of now_ms */
static bool ending;

static struct {
    char bytes[1 << 16];
    size_t used, sent;
    int to; /* -1 once the command has closed its stdin: what still comes is dropped */
} relay;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t milliseconds(const char *text)
{
    double seconds = strtod(text, NULL);
    return (int64_t)(1000 * (seconds > 0 && seconds < MOST_SECONDS ? seconds : 0));
}

static void begin_to_end(void)
{
    if (ending)
        return;
    ending = true;
    end_ms = now_ms() + grace_ms;
    kill(-1, SIGTERM);
}

/* The job's time: the number at the begin of stdin, which may come in pieces. */
static void read_time(const char *data, size_t size)
{
    static bool known;
    static double seconds;
    for (size_t at = 0; at < size && !known; at++) {
        known = data[at] < '0' || data[at] > '9' || seconds > MOST_SECONDS;
        if (!known)
            seconds = 10 * seconds + (data[at] - '0');
        else if (!ending)
            end_ms = now_ms() + (int64_t)(1000 * seconds);
    }
}

/* Also while the command reads nothing, the end of the client is seen: poll reports it without POLLIN. */
static void receive(short events)
{
    if (events & POLLIN) {
        ssize_t got = read(STDIN_FILENO, relay.bytes, sizeof relay.bytes);
        if (got > 0) {
            read_time(relay.bytes, (size_t)got);
            relay.used = relay.to < 0 ? 0 : (size_t)got;
            relay.sent = 0;
            return;
        }
        if (got < 0 && errno == EINTR)
            return;
    }
    if (events)
        begin_to_end();
}

static void hand_on(void)
{
    ssize_t written = write(relay.to, relay.bytes + relay.sent, relay.used - relay.sent);
    if (written >= 0)
        relay.sent += (size_t)written;
    else if (errno != EAGAIN && errno != EINTR) { /* the command has closed its end */
        close(relay.to);
        relay.to = -1;
    }
    if (relay.to < 0 || relay.sent == relay.used)
        relay.used = relay.sent = 0;
}

static void reap(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == command)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void take_signals(int descriptor)
{
    struct signalfd_siginfo got; /* one at a time: who sends without end must not keep us from the rest of the loop */
    if (read(descriptor, &got, sizeof got) == (ssize_t)sizeof got)
        /* A sender outside has no pid here, and only kill(2) itself gives this code. Who sent it waits, and kills. */
        if (got.ssi_signo == SIGTERM && got.ssi_code == SI_USER && got.ssi_pid == 0)
            kill(-1, SIGTERM);
    reap();
}

/* Starts the command with the read end of a new pipe as stdin, and no signal blocked. Returns the write end. */
static int start(char **arguments)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) || fcntl(ends[1], F_SETFL, O_NONBLOCK) || (command = fork()) < 0)
        _exit(FAILED);
    if (command == 0) {
        sigset_t none;
        sigemptyset(&none);
        if (dup2(ends[0], STDIN_FILENO) < 0 || sigprocmask(SIG_SETMASK, &none, NULL))
            _exit(FAILED);
        execvp(arguments[0], arguments);
        _exit(NOT_FOUND);
    }
    close(ends[0]);
    return ends[1];
}

int main(int count, char **arguments)
{
    sigset_t all, taken;
    sigfillset(&all);
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    sigaddset(&taken, SIGTERM);
    if (count < 4 || getpid() != 1) /* elsewhere kill(-1) is not for one container */
        return FAILED;
    if (prctl(PR_SET_DUMPABLE, 0) || sigprocmask(SIG_SETMASK, &all, NULL))
        return FAILED;
    int signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return FAILED;
    grace_ms = milliseconds(arguments[1]);
    end_ms = now_ms() + milliseconds(arguments[2]);
    relay.to = start(arguments + 3);

    for (;;) {
        int64_t left = end_ms - now_ms();
        if (left <= 0 && ending)
            return KILLED;
        if (left <= 0) {
            begin_to_end();
            continue;
        }
        bool full = relay.used > 0;
        struct pollfd ready[] = {
            {.fd = ending ? -1 : STDIN_FILENO, .events = full ? 0 : POLLIN},
            {.fd = full ? relay.to : -1, .events = POLLOUT},
            {.fd = signals, .events = POLLIN},
        };
        if (poll(ready, 3, (int)left + 1) < 0) {
            if (errno == EINTR)
                continue;
            return FAILED;
        }
        receive(ready[0].revents);
        if (ready[1].revents)
            hand_on();
        if (ready[2].revents)
            take_signals(signals);
    }
}

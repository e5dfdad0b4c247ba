/* What a driver answers to who opens its files: loaded into every process of the box and of its containers
 * (/etc/ld.so.preload), because a plain file cannot answer EPERM.
 *
 * /etc/errnos-in-a-box has a line for each refused file: the number of the errno and the path, as for fnmatch. The kernel's
 * sysfs gives the errno at read; here it comes at open, which tools report in the same words. A device node that a
 * process may open, and behind which there is no driver in the box, opens as /dev/null.
 *
 * A job without a container has an environment of its own: what the emulated GPU is comes from /etc/options-in-a-box. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROOM = 1 << 16 };
static char table[ROOM];

static void read_whole(const char *path, char *text, ssize_t room)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t size = 0, got;
    while (size < room - 1 && (got = read(file, text + size, (size_t)(room - 1 - size))) > 0)
        size += got;
    close(file);
}

static unsigned long long value_of(const char *properties, const char *name)
{
    const char *found = strstr(properties, name);
    return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

/* ROCR_VISIBLE_DEVICES names a GPU by its unique id; the emulated ones have none, so it becomes their number. */
static void number_of_visible(void)
{
    const char *wanted = getenv("ROCR_VISIBLE_DEVICES");
    char path[128], text[4096], number[16];
    if (!wanted || strncmp(wanted, "GPU-", 4))
        return;
    for (int node = 0, gpu = 0; node < 64; node++) {
        memset(text, 0, sizeof text);
        snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%d/properties", node);
        read_whole(path, text, sizeof text);
        if (!value_of(text, "drm_render_minor "))
            continue;
        snprintf(number, sizeof number, "%d", gpu++);
        if (value_of(text, "unique_id ") == strtoull(wanted + 4, NULL, 16)) {
            setenv("ROCR_VISIBLE_DEVICES", number, 1);
            return;
        }
    }
}

__attribute__((constructor)) static void load(void)
{
    char options[512] = "";
    read_whole("/etc/errnos-in-a-box", table, ROOM);
    read_whole("/etc/options-in-a-box", options, sizeof options);
    options[strcspn(options, "\n")] = 0;
    if (options[0])
        setenv("ROCM_IN_A_BOX_STUB_OPTIONS", options, 0);
    number_of_visible();
}

static void place_of(int at, const char *path, char *place)
{
    char whole[2 * PATH_MAX] = "", folder[PATH_MAX] = "";
    if (path[0] != '/' && at != AT_FDCWD) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        if (readlink(link, folder, sizeof folder - 1) < 0)
            folder[0] = 0;
    } else if (path[0] != '/' && !getcwd(folder, sizeof folder)) {
        folder[0] = 0;
    }
    snprintf(whole, sizeof whole, "%s%s%s", folder, path[0] == '/' ? "" : "/", path);
    if (!realpath(whole, place))
        place[0] = 0;
}

static int refusal(int at, const char *path)
{
    char place[PATH_MAX], line[PATH_MAX + 16];
    int kept = errno, found = 0;
    if (!path || !table[0])
        return 0;
    place_of(at, path, place);
    for (const char *next = table; *next && !found && strncmp(place, "/sys/", 5) == 0;) {
        size_t length = strcspn(next, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, next);
        char *name = strchr(line, ' ');
        if (name && fnmatch(name + 1, place, 0) == 0)
            found = atoi(line);
        next += length + (next[length] == '\n');
    }
    errno = kept;
    return found;
}

static int open_as(int at, const char *path, int flags, mode_t mode)
{
    int refused = refusal(at, path);
    if (refused) {
        errno = refused;
        return -1;
    }
    int file = (int)syscall(SYS_openat, at, path, flags, mode);
    if (file < 0 && errno == ENXIO && path && strncmp(path, "/dev/", 5) == 0)
        file = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", flags & ~O_CREAT);
    return file;
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(more, int) : 0;
}

#define OPENS(name, large)                                      \
    int name(const char *path, int flags, ...)                  \
    {                                                           \
        va_list more;                                           \
        va_start(more, flags);                                  \
        mode_t mode = mode_of(flags, more);                     \
        va_end(more);                                           \
        return open_as(AT_FDCWD, path, flags | (large), mode);  \
    }
#define OPENS_AT(name, large)                                   \
    int name(int at, const char *path, int flags, ...)          \
    {                                                           \
        va_list more;                                           \
        va_start(more, flags);                                  \
        mode_t mode = mode_of(flags, more);                     \
        va_end(more);                                           \
        return open_as(at, path, flags | (large), mode);        \
    }
#define OPENS_FILE(name)                                                            \
    FILE *name(const char *path, const char *mode)                                  \
    {                                                                               \
        FILE *(*next)(const char *, const char *) = dlsym(RTLD_NEXT, #name);        \
        int refused = refusal(AT_FDCWD, path);                                      \
        if (refused) {                                                              \
            errno = refused;                                                        \
            return NULL;                                                            \
        }                                                                           \
        return next(path, mode);                                                    \
    }

OPENS(open, 0)
OPENS(open64, O_LARGEFILE)
OPENS(__open_2, 0)
OPENS(__open64_2, O_LARGEFILE)
OPENS_AT(openat, 0)
OPENS_AT(openat64, O_LARGEFILE)
OPENS_AT(__openat_2, 0)
OPENS_AT(__openat64_2, O_LARGEFILE)
OPENS_FILE(fopen)
OPENS_FILE(fopen64)

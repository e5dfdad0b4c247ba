/*
 * printf as kernels call it: a format and its arguments as words of 64 bits.
 * Source: ROCm device libraries, ockl/src/services.cl: a number or pointer takes a word, a text as many as it needs.
 */
#include "hip/launch/device_printf.h"

#include <string.h>

typedef struct {
    FILE *out;
    const u64 *at, *end;
    i64 printed;
} Printer;

/* One conversion of the format: `%`, flags, width, precision, length, the letter. */
typedef struct {
    char flags[8];
    int width, precision; /* -1: none */
    char length[3];
    char letter;
} Conversion;

static u64 take(Printer *p) { return p->at < p->end ? *p->at++ : 0; }

static void add(Printer *p, int count)
{
    if (count > 0)
        p->printed += count;
}

static int read_number(Printer *p, const char **format)
{
    int value = 0;
    if (**format == '*') {
        ++*format;
        return (int)take(p);
    }
    for (; **format >= '0' && **format <= '9'; ++*format)
        value = value < 100000 ? value * 10 + (**format - '0') : value;
    return value;
}

static Conversion read_conversion(Printer *p, const char **format)
{
    Conversion c = {.width = -1, .precision = -1};
    size_t n = 0;
    for (++*format; **format && strchr("-+ #0", **format); ++*format)
        if (n < sizeof c.flags - 2 && !strchr(c.flags, **format))
            c.flags[n++] = **format;
    if (**format == '*' || (**format >= '1' && **format <= '9')) {
        c.width = read_number(p, format);
        if (c.width < 0) { /* as in C: the flag `-`, and its absolute value */
            c.flags[n] = '-';
            c.width = c.width == INT32_MIN ? INT32_MAX : -c.width;
        }
    }
    if (**format == '.') {
        ++*format;
        c.precision = read_number(p, format);
    }
    for (n = 0; **format && strchr("hlLjzt", **format); ++*format)
        if (n < 2)
            c.length[n++] = **format;
    c.letter = **format;
    if (c.letter)
        ++*format;
    return c;
}

/* The conversion for the host's printf, with the length modifier of the value that is passed to it. */
static const char *written(const Conversion *c, const char *length, char *room, size_t bytes)
{
    int n = snprintf(room, bytes, "%%%s", c->flags);
    if (c->width >= 0)
        n += snprintf(room + n, bytes - (size_t)n, "%d", c->width);
    if (c->precision >= 0)
        n += snprintf(room + n, bytes - (size_t)n, ".%d", c->precision);
    snprintf(room + n, bytes - (size_t)n, "%s%c", length, c->letter);
    return room;
}

static i64 narrowed(u64 value, const Conversion *c)
{
    bool is_signed = c->letter == 'd' || c->letter == 'i';
    if (!strcmp(c->length, "hh"))
        return is_signed ? (int8_t)value : (i64)(u8)value;
    if (!strcmp(c->length, "h"))
        return is_signed ? (int16_t)value : (i64)(u16)value;
    if (!c->length[0])
        return is_signed ? (i32)value : (i64)(u32)value;
    return (i64)value;
}

/* The text in the next words; empty if it is not terminated before their end. */
static const char *take_text(Printer *p)
{
    const char *text = (const char *)p->at;
    size_t room = (size_t)(p->end - p->at) * sizeof *p->at, length = strnlen(text, room);
    if (length == room) {
        p->at = p->end;
        return "";
    }
    p->at += length / sizeof *p->at + 1;
    return text;
}

#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"

static void convert(Printer *p, const Conversion *c)
{
    char room[64];
    double number;
    u64 value;
    switch (c->letter) {
    case 'd': case 'i': case 'o': case 'u': case 'x': case 'X':
        value = take(p);
        add(p, fprintf(p->out, written(c, "ll", room, sizeof room), narrowed(value, c)));
        break;
    case 'c': add(p, fprintf(p->out, written(c, "", room, sizeof room), (int)take(p))); break;
    case 'a': case 'A': case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
        value = take(p);
        memcpy(&number, &value, sizeof number);
        add(p, fprintf(p->out, written(c, "", room, sizeof room), number));
        break;
    case 's': add(p, fprintf(p->out, written(c, "", room, sizeof room), take_text(p))); break;
    case 'p': add(p, fprintf(p->out, written(c, "", room, sizeof room), (void *)(uintptr_t)take(p))); break;
    case 'n': take(p); break; /* nothing is written to the kernel's memory */
    default: break;
    }
}

i64 device_printf(FILE *out, const u64 *words, size_t count)
{
    Printer p = {.out = out, .at = words, .end = words + count};
    const char *format = take_text(&p);
    while (*format) {
        size_t plain = strcspn(format, "%");
        p.printed += (i64)fwrite(format, 1, plain, out);
        format += plain;
        if (!*format)
            break;
        if (format[1] == '%') {
            add(&p, fputc('%', out) == '%');
            format += 2;
            continue;
        }
        Conversion c = read_conversion(&p, &format);
        convert(&p, &c);
    }
    return p.printed;
}

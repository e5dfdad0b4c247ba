/*
 * What the compiler says about its kernels: msgpack in the ELF note NT_AMDGPU_METADATA (32).
 * Source: LLVM AMDGPUUsage, "Code Object V3 and later Metadata"; the msgpack specification.
 */
#include "hip/code/metadata.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const u8 *at, *end;
    bool bad;
    const char *why; /* it is well-formed, but not accepted */
} Reader;

typedef enum { ITEM_NUMBER, ITEM_TEXT, ITEM_ARRAY, ITEM_MAP, ITEM_OTHER } ItemKind;

typedef struct {
    ItemKind kind;
    u64 number;       /* of ITEM_NUMBER; length of the others */
    const char *text; /* not terminated */
} Item;

static u64 big_endian(Reader *r, size_t bytes)
{
    u64 value = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    while (bytes--)
        value = value << 8 | *r->at++;
    return value;
}

static Item text_item(Reader *r, u64 length)
{
    Item item = {.kind = ITEM_TEXT, .number = length, .text = (const char *)r->at};
    if (length > (u64)(r->end - r->at)) {
        r->bad = true;
        item.number = 0;
        r->at = r->end;
    } else {
        r->at += length;
    }
    return item;
}

/* The head of the next item; the members of an array or map follow as items of their own. */
static Item next(Reader *r)
{
    u8 tag = (u8)big_endian(r, 1);
    if (tag < 0x80)
        return (Item){.kind = ITEM_NUMBER, .number = tag};
    if (tag < 0x90)
        return (Item){.kind = ITEM_MAP, .number = tag & 15};
    if (tag < 0xa0)
        return (Item){.kind = ITEM_ARRAY, .number = tag & 15};
    if (tag < 0xc0)
        return text_item(r, tag & 31);
    if (tag >= 0xe0)
        return (Item){.kind = ITEM_NUMBER, .number = (u64)(int8_t)tag};
    switch (tag) {
    case 0xc0: return (Item){.kind = ITEM_OTHER};
    case 0xc2: case 0xc3: return (Item){.kind = ITEM_NUMBER, .number = tag & 1};
    case 0xc4: case 0xc5: case 0xc6: return text_item(r, big_endian(r, 1u << (tag - 0xc4)));
    case 0xca: return (Item){.kind = ITEM_OTHER, .number = big_endian(r, 4)};
    case 0xcb: return (Item){.kind = ITEM_OTHER, .number = big_endian(r, 8)};
    case 0xcc: case 0xcd: case 0xce: case 0xcf:
        return (Item){.kind = ITEM_NUMBER, .number = big_endian(r, 1u << (tag - 0xcc))};
    case 0xd0: return (Item){.kind = ITEM_NUMBER, .number = (u64)(int8_t)big_endian(r, 1)};
    case 0xd1: return (Item){.kind = ITEM_NUMBER, .number = (u64)(int16_t)big_endian(r, 2)};
    case 0xd2: return (Item){.kind = ITEM_NUMBER, .number = (u64)(int32_t)big_endian(r, 4)};
    case 0xd3: return (Item){.kind = ITEM_NUMBER, .number = big_endian(r, 8)};
    case 0xd9: case 0xda: case 0xdb: return text_item(r, big_endian(r, 1u << (tag - 0xd9)));
    case 0xdc: case 0xdd: return (Item){.kind = ITEM_ARRAY, .number = big_endian(r, 2u << (tag - 0xdc))};
    case 0xde: case 0xdf: return (Item){.kind = ITEM_MAP, .number = big_endian(r, 2u << (tag - 0xde))};
    default:
        r->bad = true;
        return (Item){.kind = ITEM_OTHER};
    }
}

static bool is(Item item, const char *text)
{
    return item.kind == ITEM_TEXT && item.number == strlen(text) && !memcmp(item.text, text, item.number);
}

static void skip(Reader *r, int depth)
{
    Item item = next(r);
    u64 members = item.kind == ITEM_ARRAY ? item.number : item.kind == ITEM_MAP ? 2 * item.number : 0;
    if (depth > 16)
        r->bad = true;
    while (members-- && !r->bad)
        skip(r, depth + 1);
}

/* Room for `count` more items, zeroed. Each takes at least a byte of the note, so a larger count is an error. NULL: an
 * error, and `list` is unchanged. */
static void *more_rooms(Reader *r, void *list, u64 used, u64 count, size_t bytes)
{
    void *memory = count <= (u64)(r->end - r->at) ? realloc(list, (used + count + 1) * bytes) : NULL;
    if (memory)
        memset((u8 *)memory + used * bytes, 0, (count + 1) * bytes);
    r->bad |= !memory;
    return memory;
}

static u32 number(Reader *r)
{
    Item item = next(r);
    r->bad |= item.kind != ITEM_NUMBER;
    return (u32)item.number;
}

static char *text(Reader *r)
{
    Item item = next(r);
    r->bad |= item.kind != ITEM_TEXT;
    return item.kind == ITEM_TEXT ? strndup(item.text, item.number) : NULL;
}

static ArgumentKind argument_kind(Item item)
{
    static const struct { const char *name; ArgumentKind kind; } hidden[] = {
        {"hidden_block_count_x", ARGUMENT_BLOCK_COUNT_X}, {"hidden_block_count_y", ARGUMENT_BLOCK_COUNT_Y},
        {"hidden_block_count_z", ARGUMENT_BLOCK_COUNT_Z}, {"hidden_group_size_x", ARGUMENT_GROUP_SIZE_X},
        {"hidden_group_size_y", ARGUMENT_GROUP_SIZE_Y},   {"hidden_group_size_z", ARGUMENT_GROUP_SIZE_Z},
        {"hidden_remainder_x", ARGUMENT_REMAINDER_X},     {"hidden_remainder_y", ARGUMENT_REMAINDER_Y},
        {"hidden_remainder_z", ARGUMENT_REMAINDER_Z},     {"hidden_grid_dims", ARGUMENT_GRID_DIMS},
        {"hidden_dynamic_lds_size", ARGUMENT_DYNAMIC_LDS_SIZE}, {"hidden_queue_ptr", ARGUMENT_QUEUE},
        {"hidden_hostcall_buffer", ARGUMENT_HOSTCALL}, {"hidden_printf_buffer", ARGUMENT_PRINTF},
        {"hidden_heap_v1", ARGUMENT_HEAP}, {"hidden_multigrid_sync_arg", ARGUMENT_MULTIGRID},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (is(item, hidden[i].name))
            return hidden[i].kind;
    return item.number >= 7 && !memcmp(item.text, "hidden_", 7) ? ARGUMENT_ZERO : ARGUMENT_EXPLICIT;
}

static void read_argument(Reader *r, KernelArgument *a)
{
    Item map = next(r);
    r->bad |= map.kind != ITEM_MAP;
    for (u64 i = 0; i < map.number && !r->bad; i++) {
        Item key = next(r);
        if (is(key, ".offset")) {
            a->offset = number(r);
        } else if (is(key, ".size")) {
            a->bytes = number(r);
        } else if (is(key, ".value_kind")) {
            Item kind = next(r);
            r->bad |= kind.kind != ITEM_TEXT;
            if (!r->bad)
                a->kind = argument_kind(kind);
        } else {
            skip(r, 0);
        }
    }
}

static void read_arguments(Reader *r, KernelMetadata *k)
{
    Item list = next(r);
    r->bad |= list.kind != ITEM_ARRAY || k->arguments;
    if (r->bad || !(k->arguments = more_rooms(r, NULL, 0, list.number, sizeof *k->arguments)))
        return;
    for (; k->argument_count < list.number && !r->bad; k->argument_count++)
        read_argument(r, &k->arguments[k->argument_count]);
}

static void read_kernel(Reader *r, KernelMetadata *k)
{
    const struct { const char *key; u32 *value; } numbers[] = {
        {".kernarg_segment_size", &k->kernarg_bytes},  {".group_segment_fixed_size", &k->lds_bytes},
        {".private_segment_fixed_size", &k->scratch_bytes}, {".max_flat_workgroup_size", &k->max_workgroup},
        {".vgpr_count", &k->vgprs},                    {".sgpr_count", &k->sgprs},
        {".agpr_count", &k->agprs},                    {".wavefront_size", &k->wavefront},
    };
    enum { COUNT = sizeof numbers / sizeof *numbers };
    Item map = next(r);
    r->bad |= map.kind != ITEM_MAP;
    for (u64 i = 0; i < map.number && !r->bad; i++) {
        Item key = next(r);
        size_t n = 0;
        while (n < COUNT && !is(key, numbers[n].key))
            n++;
        if (n < COUNT)
            *numbers[n].value = number(r);
        else if (is(key, ".name") && !k->name)
            k->name = text(r);
        else if (is(key, ".symbol") && !k->symbol)
            k->symbol = text(r);
        else if (is(key, ".args"))
            read_arguments(r, k);
        else
            skip(r, 0);
    }
    if (!r->bad && !r->why && (!k->name || !k->symbol))
        r->why = k->name ? "a kernel of the code object has no .symbol" : "a kernel of the code object has no .name";
}

static void read_kernels(Reader *r, Metadata *out)
{
    Item list = next(r);
    r->bad |= list.kind != ITEM_ARRAY;
    void *more = r->bad ? NULL : more_rooms(r, out->kernels, out->kernel_count, list.number, sizeof *out->kernels);
    if (!more)
        return;
    out->kernels = more;
    for (u64 n = 0; n < list.number && !r->bad; n++)
        read_kernel(r, &out->kernels[out->kernel_count++]);
}

static void read_printf(Reader *r, Metadata *out)
{
    Item list = next(r);
    r->bad |= list.kind != ITEM_ARRAY;
    char **formats = out->printf_formats;
    u32 count = out->printf_format_count;
    if (r->bad || !(formats = more_rooms(r, formats, count, list.number, sizeof *formats)))
        return;
    out->printf_formats = formats;
    for (u64 n = 0; n < list.number && !r->bad; n++)
        out->printf_formats[out->printf_format_count++] = text(r);
}

static void read_target(Reader *r, Metadata *out)
{
    Item item = next(r);
    if (item.kind == ITEM_TEXT && item.number < sizeof out->target)
        memcpy(out->target, item.text, item.number);
}

/* A list of two numbers, of which the second only grew: 0 to 2 are versions 3 to 6 of code objects. */
static void read_version(Reader *r)
{
    Item list = next(r);
    r->bad |= list.kind != ITEM_ARRAY || list.number < 2;
    for (u64 n = 0; n < list.number && !r->bad; n++)
        skip(r, 0);
}

const char *metadata_read(const u8 *note, size_t bytes, Metadata *out)
{
    Reader r = {.at = note, .end = note + bytes};
    bool versioned = false;
    Item map = next(&r);
    r.bad |= map.kind != ITEM_MAP;
    for (u64 i = 0; i < map.number && !r.bad; i++) {
        Item key = next(&r);
        if (is(key, "amdhsa.kernels"))
            read_kernels(&r, out);
        else if (is(key, "amdhsa.target"))
            read_target(&r, out);
        else if (is(key, "amdhsa.printf"))
            read_printf(&r, out);
        else if (is(key, "amdhsa.version"))
            read_version(&r), versioned = true;
        else
            skip(&r, 0);
    }
    if (r.bad)
        return "the metadata of the code object are malformed";
    return r.why || versioned ? r.why : "the metadata of the code object have no amdhsa.version";
}

void metadata_free(Metadata *m)
{
    for (u32 i = 0; i < m->kernel_count; i++) {
        free(m->kernels[i].name);
        free(m->kernels[i].symbol);
        free(m->kernels[i].arguments);
    }
    for (u32 i = 0; i < m->printf_format_count; i++)
        free(m->printf_formats[i]);
    free(m->kernels);
    free(m->printf_formats);
}

#include "decode/row_index.h"

#include <stdlib.h>

#include "isa/names.h"
#include "isa/rows.h"

struct RowSlot { const char *mnemonic; const Row *row; };

static u32 hash(const char *s)
{
    u32 h = 2166136261u;
    while (*s)
        h = (h ^ (u8)*s++) * 16777619u;
    return h;
}

static void enter(RowIndex *x, const char *mnemonic, const Row *row)
{
    u32 at = hash(mnemonic) & x->mask;
    while (x->slot[at].row)
        at = (at + 1) & x->mask;
    x->slot[at] = (RowSlot){mnemonic, row};
}

const Row *row_index_find(const RowIndex *x, const char *mnemonic)
{
    for (u32 at = hash(mnemonic) & x->mask; x->slot[at].row; at = (at + 1) & x->mask)
        if (strcmp(x->slot[at].mnemonic, mnemonic) == 0)
            return x->slot[at].row;
    return NULL;
}

bool row_index_make(RowIndex *x)
{
    u32 rows = isa_other_name_count, size = 1024;
    for (u32 t = 0; t < isa_table_count; t++)
        rows += isa_tables[t]->count;
    while (size < 2 * rows)
        size *= 2;
    x->mask = size - 1;
    x->slot = calloc(size, sizeof *x->slot);
    if (!x->slot)
        return false;
    for (u32 t = 0; t < isa_table_count; t++)
        for (u32 k = 0; k < isa_tables[t]->count; k++)
            enter(x, isa_tables[t]->rows[k].mnemonic, &isa_tables[t]->rows[k]);
    for (u32 k = 0; k < isa_other_name_count; k++) {
        const Row *row = row_index_find(x, isa_other_names[k].row);
        if (row)
            enter(x, isa_other_names[k].name, row);
    }
    return true;
}

void row_index_destroy(RowIndex *x)
{
    free(x->slot);
    x->slot = NULL;
}

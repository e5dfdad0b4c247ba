/* The rows of all instruction tables by mnemonic. */
#ifndef AMDKERNEL_ROW_INDEX_H
#define AMDKERNEL_ROW_INDEX_H

#include "machine/machine.h"

typedef struct RowSlot RowSlot;
typedef struct { RowSlot *slot; u32 mask; } RowIndex; /* an open hash table */

/* false without memory for it */
bool row_index_make(RowIndex *x);
void row_index_destroy(RowIndex *x);
const Row *row_index_find(const RowIndex *x, const char *mnemonic);

#endif

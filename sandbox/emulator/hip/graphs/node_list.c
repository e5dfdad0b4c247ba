#include "hip/graphs/node_list.h"

#include <stdlib.h>
#include <string.h>

bool node_list_has(const NodeList *l, const Node *n)
{
    for (u32 i = 0; i < l->count; i++)
        if (l->items[i] == n)
            return true;
    return false;
}

bool node_list_add(NodeList *l, Node *n)
{
    if (node_list_has(l, n))
        return true;
    Node **items = realloc(l->items, (l->count + 1) * sizeof *items);
    if (!items)
        return false;
    l->items = items;
    l->items[l->count++] = n;
    return true;
}

void node_list_remove(NodeList *l, const Node *n)
{
    for (u32 i = 0; i < l->count; i++)
        if (l->items[i] == n) {
            memmove(&l->items[i], &l->items[i + 1], (--l->count - i) * sizeof *l->items);
            return;
        }
}

void node_list_clear(NodeList *l)
{
    free(l->items);
    *l = (NodeList){0};
}

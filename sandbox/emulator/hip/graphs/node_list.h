/* Lists of a graph's nodes. */
#ifndef AMDKERNEL_HIP_NODE_LIST_H
#define AMDKERNEL_HIP_NODE_LIST_H

#include "hip/runtime/runtime.h"

typedef struct hipGraphNode Node;

typedef struct {
    Node **items;
    u32 count;
} NodeList;

bool node_list_add(NodeList *l, Node *n); /* once; false when there is no memory */
void node_list_remove(NodeList *l, const Node *n);
void node_list_clear(NodeList *l);
bool node_list_has(const NodeList *l, const Node *n);

#endif

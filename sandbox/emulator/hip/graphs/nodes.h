/* The nodes of graphs. */
#ifndef AMDKERNEL_HIP_NODES_H
#define AMDKERNEL_HIP_NODES_H

#include "hip/graphs/graph.h"

/* New work for a node; hipErrorInvalidValue when it is of another kind. */
hipError_t nodes_set(Node *n, const Work *w);
/* A new node of `graph` that does `w`, unless making the work was an error. */
hipError_t nodes_add(hipGraphNode_t *out, Graph *graph, const hipGraphNode_t *needs, size_t count, hipError_t made,
                     const Work *w);
/* The node of an executable graph that came from `node`, or NULL. */
Node *nodes_in(hipGraphExec_t exec, const Node *node);

#endif

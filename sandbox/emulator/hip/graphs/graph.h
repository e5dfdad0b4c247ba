/* Graphs: work with dependencies, kept to be done again and again. */
#ifndef AMDKERNEL_HIP_GRAPH_H
#define AMDKERNEL_HIP_GRAPH_H

#include "hip/graphs/node_list.h"
#include "hip/graphs/user_object.h"
#include "hip/work/attributes.h"
#include "hip/work/work.h"

typedef struct ihipGraph Graph;

struct hipGraphNode {
    Graph *graph;
    Work work;
    NodeList needs;      /* are done before it */
    const Node *origin;  /* the node that this one is a copy of */
    bool disabled;
    u32 mark;            /* scratch for walks over the graph */
    Attributes attributes; /* of a kernel */
};

struct ihipGraph {
    NodeList nodes;
    const Graph *origin;
    Retained *retained;
};

/* An instantiated graph: its own copy, and the order in which the nodes run. */
struct hipGraphExec {
    Graph *graph;
    Node **order;
    unsigned long long flags;
};

hipError_t graph_add(Graph *g, const NodeList *needs, const Work *w, Node **out);
hipError_t graph_clone(const Graph *g, Graph **out);
void graph_end(Graph *g);
void graph_end_node(Node *n);
/* An order in which every node comes after those it needs; NULL when there is a cycle. The caller frees it. */
Node **graph_order(const Graph *g);
Node *graph_copy_of(const Graph *g, const Node *origin);
/* work_keep() and work_drop(), for graphs as well. */
hipError_t graph_keep_work(const Work *w, Work *out);
void graph_drop_work(Work *w);

#endif

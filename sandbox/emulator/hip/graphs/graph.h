/* Graphs: work with dependencies, kept to be done again and again; and the capture of streams into them. */
#ifndef AMDKERNEL_HIP_GRAPH_H
#define AMDKERNEL_HIP_GRAPH_H

#include "hip/streams/attributes.h"
#include "hip/streams/work.h"

#include <time.h>

typedef struct hipGraphNode Node;
typedef struct ihipGraph Graph;

typedef struct {
    Node **items;
    u32 count;
} NodeList;

struct hipGraphNode {
    Graph *graph;
    Work work;
    NodeList needs;      /* must have been done before */
    const Node *origin;  /* the node that this one is a copy of */
    bool disabled;
    u32 mark;            /* scratch of those who walk the graph */
    Attributes attributes; /* of a kernel */
};

typedef struct UserObject UserObject;
typedef struct Retained {
    UserObject *object;
    u32 count;
    struct Retained *next;
} Retained;

struct ihipGraph {
    NodeList nodes;
    const Graph *origin;
    Retained *retained;
};

/* An instantiated graph: a copy of its own, and the order in which its nodes are done. */
struct hipGraphExec {
    Graph *graph;
    Node **order;
    unsigned long long flags;
};

struct Capture {
    u64 id;
    Graph *graph;
    bool owns_graph;
    hipStreamCaptureMode mode;
    pthread_t thread;
    struct Stream *origin;
    bool broken;         /* an operation in it failed: it can only be ended */
};
typedef struct Capture Capture;

/* node_list.c */
bool list_add(NodeList *l, Node *n); /* once; false when there is no memory */
void list_remove(NodeList *l, const Node *n);
void list_clear(NodeList *l);
bool list_has(const NodeList *l, const Node *n);

/* graph.c */
hipError_t graph_add(Graph *g, const NodeList *needs, const Work *w, Node **out);
hipError_t graph_clone(const Graph *g, Graph **out);
void graph_end(Graph *g);
/* An order in which every node comes after those it needs; NULL when there is a cycle. To be freed. */
Node **graph_order(const Graph *g);
Node *graph_copy_of(const Graph *g, const Node *origin);

/* graph_nodes.c: new parameters for a node of `kind`, from what the program calls them. */
hipError_t node_set(Node *n, const Work *w);
hipError_t kernel_work(const hipKernelNodeParams *p, Work *out);
/* A new node of `graph` doing `w`, unless making the work was an error. */
hipError_t node_add(hipGraphNode_t *out, Graph *graph, const hipGraphNode_t *needs, size_t count, hipError_t made,
                    const Work *w);
/* The node of an executable graph that came from `node`, or NULL. */
Node *node_in(hipGraphExec_t exec, const Node *node);

/* capture.c */
hipError_t capture_add(struct Stream *s, const Work *w);
/* hipErrorStreamCaptureUnsupported where a capture forbids a call that would wait for the device or allocate. */
hipError_t capture_forbids(void);
hipError_t capture_forbids_stream(struct Stream *s);
/* hipErrorStreamCaptureImplicit, and those captures are broken, where a call that copies at once would wait for one. */
hipError_t capture_forbids_copies(void);
/* The same for work of the null stream, which waits for blocking streams that capture. */
hipError_t capture_forbids_null(const struct Stream *s);

/* user_object.c */
void user_objects_release(Retained *list);

#endif

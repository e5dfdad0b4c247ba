/* Kernels that can be launched, and launching them. */
#ifndef AMDKERNEL_HIP_LAUNCH_H
#define AMDKERNEL_HIP_LAUNCH_H

#include "hip/code/code_object.h"
#include "checks/races/overlap.h"

#include <stdio.h>

typedef struct Function {
    CodeObject *object;
    const KernelMetadata *kernel;
    KernelCode code;
    Program *program; /* its own part of the object's code; NULL until the first launch, and where that is not enough */
    struct Function *next;
} Function;

typedef struct {
    u32 grid[3]; /* work-items */
    u32 block[3];
    u32 dynamic_lds_bytes;
    bool cooperative; /* all workgroups are resident at once, and may synchronise */
} LaunchShape;

/* Values of hidden arguments that are more than the launch's shape: device addresses, or 0. */
typedef struct { u64 hostcall, printf, heap, multigrid; } HiddenBlocks;

/* module.c: hipErrorNotFound when the code object has no such kernel, or a descriptor that lies outside it. */
hipError_t function_make(CodeObject *object, const char *name, Function **out);
void function_end(Function *f);
/* What a module was loaded from. */
const CodeObject *module_object(hipModule_t module);
/* Whether a pointer is a hipFunction_t. */
bool function_exists(const void *pointer);

/* register.c: the function behind the address of a host stub, on the current device, or NULL. */
Function *registered_function(const void *host_function, hipError_t *error);
/* The address of `offset` in a variable of the current device; hipErrorInvalidSymbol, hipErrorInvalidValue when the
 * `bytes` behind it are not all in it. */
hipError_t symbol_range(const void *symbol, size_t bytes, size_t offset, void **address);

/* launch.c: `parameters` are pointers to the values, or `extra` is a buffer of them; one of the two is NULL. They are
 * read when it begins. It goes on for so many seconds or, below 0, to its end: then (true) `out` is gone. A fault of the
 * kernel is not in an answer: it is latched in the runtime. */
typedef struct Launch Launch;
hipError_t launch_begin(Function *f, const LaunchShape *shape, void **parameters, void **extra, Launch **out);
bool launch_continue(Launch *l, double patience_s);
/* The checks of a launch alone. */
hipError_t launch_check(const Function *f, const LaunchShape *shape, void **parameters, void **extra);
/* The shape of a grid that is given in workgroups. */
hipError_t launch_shape(dim3 blocks, dim3 block, size_t dynamic_lds_bytes, LaunchShape *out);
/* One kernel on each of several devices at once, which may synchronise with each other. */
typedef struct { Function *function; LaunchShape shape; void **parameters; } GridOfMany;
hipError_t launch_together(const GridOfMany *grids, u32 count);

/* occupancy.c: workgroups of a kernel that all compute units of the device hold at once. */
u64 occupancy_resident(const Function *f, u32 block_items, u32 dynamic_lds_bytes);

/* kernarg.c: what the kernel reads at its kernarg pointer. `out` has kernarg_bytes. */
hipError_t kernarg_fill(u8 *out, const KernelMetadata *k, const LaunchShape *shape, void **parameters, void **extra,
                        const HiddenBlocks *hidden);
/* The buffer of values that HIP's `extra` list names; false when it names none. */
bool kernarg_read_extra(void **extra, const void **buffer, size_t *bytes);

/* report.c: one JSON line to the report file, or a sentence on stderr for a fault when there is none. With the option
 * `overruns` faults but limits always go to stderr as well, and the file has launches with faults, and with findings that
 * no earlier one had. */
void report_dispatch(const Function *f, const Dispatch *d, Outcome *o);

/* calls.c: what is wrong with a copy, a fill or a release of the program itself. With the option `check` it is told, and
 * where in the program the call stands; the call's own error says less. `other`: work that it meets, or NULL. */
void report_call(const char *what, const char *kind, u64 address, u64 bytes, bool store, const Overlapping *other);
/* The range leaves its block, or lies in one that was freed. */
void report_bad_range(const char *what, const void *pointer, u64 bytes, bool store);
/* report.c: what calls.c shares with it. */
FILE *report_open(void);
/* If the block is that of the code object's variables, the one that the address lies in or comes after, its name in
 * backticks. */
void report_variable(const CodeObject *c, u64 address, Block *near);
void report_region(FILE *out, const Block *near);
/* calls.c: a block was made; where in the program that was asked for, as far as it is known. Not with the lock of the
 * runtime, which the loader may wait for. */
void report_note_allocation(u64 address);
void report_allocation_calls(FILE *out, u32 number);
void report_work(FILE *out, const void *label, const Overlapping *o);
void report_objects_of(const void *label);

/* hostcall.c: the buffer through which kernels ask the host for services, and what answers (Dispatch.interrupt). */
u64 hostcall_buffer(void);
void hostcall_serve(void *unused);
/* device_heap.c: what malloc in kernels manages; blocks for it. 0 when there is no room. */
u64 device_heap(void);
u64 device_heap_allocate(u64 bytes);
void device_heap_release(u64 address);
/* Where it lies; no bytes: no kernel has asked for it. */
void device_heap_bounds(u64 *address, u64 *bytes);
/* printf_buffer.c: a buffer for the printf of a dispatch (*block, made when it is 0), and its printing afterwards. */
u64 printf_buffer(u64 *block);
void printf_buffer_print(const CodeObject *c, u64 block);
/* device_printf.c: print `words` of 64 bits: the format, and the arguments. The value of printf. */
i64 device_printf(FILE *out, const u64 *words, size_t count);

#endif

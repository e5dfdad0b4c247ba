/* Copies and prefetches in batches (HIP 7). A stream does them in the order of the list. */
#include "hip/runtime/answer.h"
#include "hip/runtime/unsupported.h"

static const size_t no_index = SIZE_MAX; /* the error belongs to no item of the batch */

/* Source: driver_types.h of HIP 7.1. The headers of HIP 6 do not have these. */
enum { ORDER_STREAM = 1, ORDER_DURING_CALL = 2, ORDER_ANY = 3 };

typedef struct {
    int order;
    hipMemLocation from, to; /* hints */
    unsigned flags;
} CopyAttributes;

typedef struct {
    int type; /* OPERAND_POINTER, or an array */
    union {
        struct { void *address; size_t row_length, layer_height; hipMemLocation hint; } pointer;
        struct { hipArray_t array; size_t offset[3]; } array;
    };
} Operand3D;
enum { OPERAND_POINTER = 1 };

typedef struct {
    Operand3D from, to;
    hipExtent extent;
    int order;
    unsigned flags;
} Copy3D;

static bool is_order(int order) { return order >= ORDER_STREAM && order <= ORDER_ANY; }

/* Attribute k applies to the copies from indices[k] up to indices[k + 1]: indices begin with 0, and increase. */
static bool are_attributes(const CopyAttributes *attributes, const size_t *indices, size_t number, size_t count)
{
    if (number && (!attributes || !indices || number > count || indices[0]))
        return false;
    for (size_t k = 0; k < number; k++)
        if (!is_order(attributes[k].order) || indices[k] >= count || (k && indices[k] <= indices[k - 1]))
            return false;
    return true;
}

static hipError_t fail(size_t *failed, size_t index, hipError_t error)
{
    if (failed)
        *failed = index;
    return answer(error);
}

hipError_t hipMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count, CopyAttributes *attributes,
                               size_t *indices, size_t number, size_t *failed, hipStream_t stream);
hipError_t hipMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count, CopyAttributes *attributes,
                               size_t *indices, size_t number, size_t *failed, hipStream_t stream)
{
    if (!to || !from || !bytes || !count || !are_attributes(attributes, indices, number, count))
        return fail(failed, no_index, hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        if (!to[i] || !from[i] || !bytes[i])
            return fail(failed, i, hipErrorInvalidValue);
    for (size_t i = 0, k = 0; i < count; i++) {
        while (k + 1 < number && indices[k + 1] <= i)
            k++;
        bool now = number && attributes[k].order == ORDER_DURING_CALL;
        hipError_t error = (now ? hipMemcpyWithStream : hipMemcpyAsync)(to[i], from[i], bytes[i], hipMemcpyDefault, stream);
        if (error != hipSuccess)
            return fail(failed, i, error);
    }
    return hipSuccess;
}

/* A row length or layer height of 0 means that of the copy. */
static hipPitchedPtr pitched(const Operand3D *o, hipExtent e)
{
    size_t pitch = o->pointer.row_length ? o->pointer.row_length : e.width;
    return (hipPitchedPtr){o->pointer.address, pitch, pitch, o->pointer.layer_height ? o->pointer.layer_height : e.height};
}

static hipError_t check_3d(const Copy3D *c)
{
    if (c->from.type != OPERAND_POINTER || c->to.type != OPERAND_POINTER)
        return unsupported("hipMemcpy3DBatchAsync", "arrays need image instructions, which are not emulated");
    return is_order(c->order) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipMemcpy3DBatchAsync(size_t count, Copy3D *list, size_t *failed, unsigned long long flags, hipStream_t stream);
hipError_t hipMemcpy3DBatchAsync(size_t count, Copy3D *list, size_t *failed, unsigned long long flags, hipStream_t stream)
{
    if (!list || !count || flags)
        return fail(failed, no_index, hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        hipError_t error = check_3d(&list[i]);
        if (error == hipSuccess) {
            const hipMemcpy3DParms p = {.srcPtr = pitched(&list[i].from, list[i].extent),
                                        .dstPtr = pitched(&list[i].to, list[i].extent),
                                        .extent = list[i].extent, .kind = hipMemcpyDefault};
            error = hipMemcpy3DAsync(&p, stream);
        }
        if (error == hipSuccess && list[i].order == ORDER_DURING_CALL)
            error = hipStreamSynchronize(stream);
        if (error != hipSuccess)
            return fail(failed, i, error);
    }
    return hipSuccess;
}

hipError_t hipMemPrefetchBatchAsync(void **pointers, size_t *bytes, size_t count, hipMemLocation *places, size_t *indices,
                                    size_t number, unsigned long long flags, hipStream_t stream);
hipError_t hipMemPrefetchBatchAsync(void **pointers, size_t *bytes, size_t count, hipMemLocation *places, size_t *indices,
                                    size_t number, unsigned long long flags, hipStream_t stream)
{
    if (!pointers || !bytes || !count || !places || !indices || !number || number > count || indices[0] || flags)
        return answer(hipErrorInvalidValue);
    hipError_t error = hipSuccess;
    for (size_t i = 0, k = 0; i < count && error == hipSuccess; i++) {
        while (k + 1 < number && indices[k + 1] <= i)
            k++;
        bool device = places[k].type == hipMemLocationTypeDevice;
        error = hipMemPrefetchAsync(pointers[i], bytes[i], device ? places[k].id : hipCpuDeviceId, stream);
    }
    return error;
}

/* hipMemset and its variants. */
#include "hip/copies/fill.h"
#include "hip/memory/allocation.h"
#include "hip/runtime/answer.h"
#include "hip/streams/capture.h"
#include "hip/streams/stream.h"
#include "hip/streams/submit.h"

static bool is_on_device(const void *pointer)
{
    Allocation a;
    return allocation_find(pointer, &a) && a.kind == ALLOCATION_DEVICE;
}

/* `wait`: the call cannot be captured, and memory that the host can see is filled when it returns. */
static hipError_t fill(FillWork w, bool wait, hipStream_t stream)
{
    const Work work = {.kind = WORK_FILL, .fill = w};
    hipError_t error = wait ? capture_forbids_copies() : hipSuccess;
    if (error != hipSuccess)
        return answer(error);
    bool done = wait && !is_on_device(w.to);
    error = done ? stream_submit_and_wait(stream, &work) : stream_submit(stream, &work);
    if (wait)
        stream_call_returned(stream);
    return answer(error);
}

static FillWork line(void *to, u32 value, size_t element_bytes, size_t count)
{
    return (FillWork){.to = to, .value = value, .element_bytes = element_bytes, .width = count, .height = 1, .depth = 1};
}

hipError_t hipMemset(void *to, int value, size_t bytes) { return fill(line(to, (u32)value, 1, bytes), true, NULL); }

hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream)
{
    return fill(line(to, (u32)value, 1, bytes), false, stream);
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count)
{
    return fill(line(to, value, 1, count), true, NULL);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream)
{
    return fill(line(to, value, 1, count), false, stream);
}

hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count)
{
    return fill(line(to, value, 2, count), true, NULL);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count, hipStream_t stream)
{
    return fill(line(to, value, 2, count), false, stream);
}

hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count)
{
    return fill(line(to, (u32)value, 4, count), true, NULL);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream)
{
    return fill(line(to, (u32)value, 4, count), false, stream);
}

static hipError_t fill_rows(void *to, size_t pitch, u32 value, size_t element, size_t width, size_t height, bool wait,
                            hipStream_t stream)
{
    if (width * element > pitch)
        return answer(hipErrorInvalidPitchValue);
    return fill((FillWork){.to = to, .value = value, .element_bytes = element, .width = width, .height = height,
                           .depth = 1, .pitch = pitch}, wait, stream);
}

hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return fill_rows(to, pitch, (u32)value, 1, width, height, true, NULL);
}

hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream)
{
    return fill_rows(to, pitch, (u32)value, 1, width, height, false, stream);
}

/* HIP 7.1 has these; the headers of HIP 6 do not. */
#define FILL_2D(bits, Type)                                                                                           \
    hipError_t hipMemsetD2D##bits(hipDeviceptr_t to, size_t pitch, Type value, size_t width, size_t height);          \
    hipError_t hipMemsetD2D##bits(hipDeviceptr_t to, size_t pitch, Type value, size_t width, size_t height)           \
    {                                                                                                                 \
        return fill_rows(to, pitch, (u32)value, bits / 8, width, height, true, NULL);                                 \
    }                                                                                                                 \
    hipError_t hipMemsetD2D##bits##Async(hipDeviceptr_t to, size_t pitch, Type value, size_t width, size_t height,    \
                                         hipStream_t stream);                                                         \
    hipError_t hipMemsetD2D##bits##Async(hipDeviceptr_t to, size_t pitch, Type value, size_t width, size_t height,    \
                                         hipStream_t stream)                                                          \
    {                                                                                                                 \
        return fill_rows(to, pitch, (u32)value, bits / 8, width, height, false, stream);                              \
    }
FILL_2D(8, unsigned char)
FILL_2D(16, unsigned short)
FILL_2D(32, unsigned)

static hipError_t fill_box(hipPitchedPtr to, int value, hipExtent extent, bool wait, hipStream_t stream)
{
    if (extent.width > to.pitch)
        return answer(hipErrorInvalidPitchValue);
    return fill((FillWork){.to = to.ptr, .value = (u32)value, .element_bytes = 1, .width = extent.width,
                           .height = extent.height, .depth = extent.depth, .pitch = to.pitch,
                           .slice_bytes = to.pitch * to.ysize}, wait, stream);
}

hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent) { return fill_box(to, value, extent, true, NULL); }

hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream)
{
    return fill_box(to, value, extent, false, stream);
}

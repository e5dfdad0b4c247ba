/*
 * Copies and fills. A device address is a host address, so each is a memcpy once it is known that the part of it that
 * lies in device memory lies in one live block. (A copy out of bounds is an error here; AMD's runtime may let it pass
 * when the pages happen to be mapped.)
 */
#include "allocation.h"

#include <string.h>

#if HIP_VERSION_MAJOR >= 7
typedef const void *HostSource;
#else
typedef void *HostSource; /* the headers of HIP 6 lack the const */
#endif

/* hipErrorInvalidValue for a range that begins in one of our blocks and leaves it, or lies in no block of the arena
 * though `kind` says device memory. Code objects' variables are in the arena too, hence memory_in_block. */
static hipError_t check_range(const void *pointer, size_t bytes, bool must_be_device)
{
    u64 address = (u64)(uintptr_t)pointer;
    if (memory_in_block(runtime()->memory, address, bytes))
        return hipSuccess;
    return must_be_device || memory_in_block(runtime()->memory, address, 1) ? hipErrorInvalidValue : hipSuccess;
}

static hipError_t check_copy(const void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    if (kind > hipMemcpyDefault && kind != hipMemcpyDeviceToDeviceNoCU)
        return hipErrorInvalidMemcpyDirection;
    if (!to || !from)
        return hipErrorInvalidValue;
    bool device = kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDeviceToDeviceNoCU;
    hipError_t error = check_range(to, bytes, device || kind == hipMemcpyHostToDevice);
    return error != hipSuccess ? error : check_range(from, bytes, device || kind == hipMemcpyDeviceToHost);
}

static hipError_t copy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    hipError_t error = device_fault();
    if (error != hipSuccess || bytes == 0)
        return error;
    runtime_lock();
    error = check_copy(to, from, bytes, kind);
    if (error == hipSuccess)
        memmove(to, from, bytes);
    runtime_unlock();
    return error;
}

static hipError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                            size_t height, hipMemcpyKind kind)
{
    if (width > to_pitch || width > from_pitch)
        return hipErrorInvalidPitchValue;
    hipError_t error = hipSuccess;
    for (size_t row = 0; row < height && error == hipSuccess; row++)
        error = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind);
    return error;
}

static hipError_t fill(void *to, const void *pattern, size_t pattern_bytes, size_t count)
{
    hipError_t error = device_fault();
    size_t bytes;
    if (error != hipSuccess || count == 0)
        return error;
    if (!to || __builtin_mul_overflow(pattern_bytes, count, &bytes))
        return hipErrorInvalidValue;
    runtime_lock();
    error = check_range(to, bytes, true);
    if (error == hipSuccess && pattern_bytes == 1)
        memset(to, *(const u8 *)pattern, count);
    else if (error == hipSuccess)
        for (size_t i = 0; i < count; i++)
            memcpy((char *)to + i * pattern_bytes, pattern, pattern_bytes);
    runtime_unlock();
    return error;
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    return answer(copy(to, from, bytes, kind));
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    (void)stream;
    return answer(copy(to, from, bytes, kind));
}

hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    (void)stream;
    return answer(copy(to, from, bytes, kind));
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, HostSource from, size_t bytes)
{
    return answer(copy(to, from, bytes, hipMemcpyHostToDevice));
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, HostSource from, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return hipMemcpyHtoD(to, from, bytes);
}

hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes)
{
    return answer(copy(to, from, bytes, hipMemcpyDeviceToHost));
}

hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return hipMemcpyDtoH(to, from, bytes);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes)
{
    return answer(copy(to, from, bytes, hipMemcpyDeviceToDevice));
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return hipMemcpyDtoD(to, from, bytes);
}

hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    if (to_device != 0 || from_device != 0)
        return answer(hipErrorInvalidDevice);
    return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}

hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind)
{
    return answer(copy_rows(to, to_pitch, from, from_pitch, width, height, kind));
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t stream)
{
    (void)stream;
    return answer(copy_rows(to, to_pitch, from, from_pitch, width, height, kind));
}

hipError_t hipMemset(void *to, int value, size_t bytes)
{
    u8 byte = (u8)value;
    return answer(fill(to, &byte, 1, bytes));
}

hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return hipMemset(to, value, bytes);
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count)
{
    return answer(fill(to, &value, 1, count));
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream)
{
    (void)stream;
    return hipMemsetD8(to, value, count);
}

hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count)
{
    return answer(fill(to, &value, sizeof value, count));
}

hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count, hipStream_t stream)
{
    (void)stream;
    return hipMemsetD16(to, value, count);
}

hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count)
{
    return answer(fill(to, &value, sizeof value, count));
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream)
{
    (void)stream;
    return hipMemsetD32(to, value, count);
}

hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    u8 byte = (u8)value;
    if (width > pitch)
        return answer(hipErrorInvalidPitchValue);
    hipError_t error = hipSuccess;
    for (size_t row = 0; row < height && error == hipSuccess; row++)
        error = fill((char *)to + row * pitch, &byte, 1, width);
    return answer(error);
}

hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream)
{
    (void)stream;
    return hipMemset2D(to, pitch, value, width, height);
}

// cuda::pipeline, cuda::barrier, cuda::atomic and the primitives of cuda_pipeline.h. A copy is done when it is asked for.
#pragma once
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
__device__ inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0)
{
    for (size_t i = 0; i < bytes; i++)
        static_cast<char *>(to)[i] = i + zeros < bytes ? static_cast<const char *>(from)[i] : char(0);
}
__device__ inline void __pipeline_commit() {}
__device__ inline void __pipeline_wait_prior(size_t) {}
namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
constexpr int hip_scope(thread_scope scope)
{
    return scope == thread_scope_system   ? __HIP_MEMORY_SCOPE_SYSTEM
           : scope == thread_scope_device ? __HIP_MEMORY_SCOPE_AGENT
           : scope == thread_scope_block  ? __HIP_MEMORY_SCOPE_WORKGROUP
                                          : __HIP_MEMORY_SCOPE_SINGLETHREAD;
}
template <size_t Alignment> struct aligned_size_t {
    size_t value;
    __host__ __device__ constexpr explicit aligned_size_t(size_t bytes) : value(bytes) {}
    __host__ __device__ constexpr operator size_t() const { return value; }
};
template <thread_scope Scope, int Stages = 1> struct pipeline_shared_state {
    char unused;
};
// Of a thread or of a block; a block that is parted in producers and consumers has none.
template <thread_scope Scope> struct pipeline {
    __device__ void producer_acquire() {}
    __device__ void producer_commit() {}
    __device__ void consumer_wait() { all(); }
    __device__ void consumer_release() { all(); }
    __device__ void all() const
    {
        if (Scope == thread_scope_block)
            __syncthreads();
    }
};
__device__ inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <thread_scope Scope, int Stages>
__device__ inline pipeline<Scope> make_pipeline(const cooperative_groups::thread_block &,
                                                pipeline_shared_state<Scope, Stages> *)
{
    return {};
}
template <int Prior, thread_scope Scope> __device__ inline void pipeline_consumer_wait_prior(pipeline<Scope> &pipe)
{
    pipe.consumer_wait();
}
// In LDS. A wave that waits leaves the others to arrive; lanes of one wave must arrive together.
template <thread_scope Scope> struct barrier {
    using arrival_token = unsigned;
    unsigned expected, arrived, phase;
    __device__ arrival_token arrive(unsigned count = 1)
    {
        unsigned now = __hip_atomic_load(&phase, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
        unsigned before = __hip_atomic_fetch_add(&arrived, count, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
        if (before + count == expected) {
            __hip_atomic_store(&arrived, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
            __hip_atomic_store(&phase, now + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        }
        return now;
    }
    __device__ void wait(arrival_token token) const
    {
        while (__hip_atomic_load(&phase, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == token)
            __builtin_amdgcn_s_sleep(1);
    }
    __device__ void arrive_and_wait() { wait(arrive()); }
};
template <thread_scope Scope> __device__ inline void init(barrier<Scope> *at, unsigned expected)
{
    at->expected = expected;
    at->arrived = at->phase = 0;
}
template <class T, class S, class Bytes, thread_scope Scope>
__device__ inline void memcpy_async(T *to, const S *from, Bytes bytes, pipeline<Scope> &)
{
    __pipeline_memcpy_async(to, from, bytes);
}
template <class T, class S, class Bytes, thread_scope Scope>
__device__ inline void memcpy_async(T *to, const S *from, Bytes bytes, barrier<Scope> &)
{
    __pipeline_memcpy_async(to, from, bytes);
}
template <class Group, class T, class S, class Bytes, class Until>
__device__ inline void memcpy_async(const Group &group, T *to, const S *from, Bytes bytes, Until &)
{
    for (size_t i = group.thread_rank(); i < bytes; i += group.size())
        reinterpret_cast<char *>(to)[i] = reinterpret_cast<const char *>(from)[i];
}
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
template <class T, thread_scope Scope = thread_scope_system> struct atomic_ref {
    T *at;
    __device__ explicit atomic_ref(T &value) : at(&value) {}
    __device__ T load(memory_order = memory_order_seq_cst) const
    {
        return __hip_atomic_load(at, __ATOMIC_SEQ_CST, hip_scope(Scope));
    }
    __device__ void store(T value, memory_order = memory_order_seq_cst) const
    {
        __hip_atomic_store(at, value, __ATOMIC_SEQ_CST, hip_scope(Scope));
    }
    __device__ T exchange(T value, memory_order = memory_order_seq_cst) const
    {
        return __hip_atomic_exchange(at, value, __ATOMIC_SEQ_CST, hip_scope(Scope));
    }
    __device__ bool compare_exchange_strong(T &expected, T value, memory_order = memory_order_seq_cst) const
    {
        return __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST,
                                                    hip_scope(Scope));
    }
    __device__ bool compare_exchange_weak(T &expected, T value, memory_order order = memory_order_seq_cst) const
    {
        return compare_exchange_strong(expected, value, order);
    }
    __device__ T fetch_add(T value, memory_order = memory_order_seq_cst) const
    {
        return __hip_atomic_fetch_add(at, value, __ATOMIC_SEQ_CST, hip_scope(Scope));
    }
    __device__ T fetch_sub(T value, memory_order order = memory_order_seq_cst) const { return fetch_add(-value, order); }
    __device__ T fetch_min(T value, memory_order = memory_order_seq_cst) const
    {
        return __hip_atomic_fetch_min(at, value, __ATOMIC_SEQ_CST, hip_scope(Scope));
    }
    __device__ T fetch_max(T value, memory_order = memory_order_seq_cst) const
    {
        return __hip_atomic_fetch_max(at, value, __ATOMIC_SEQ_CST, hip_scope(Scope));
    }
};
} // namespace cuda

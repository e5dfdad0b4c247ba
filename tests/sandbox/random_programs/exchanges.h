/*
 * How lanes of random programs hear of one another. Each exchange has two forms: `lanes_NAME` is what a lane of the GPU
 * does with its value, `all_NAME` what becomes of the values of a whole workgroup, written from what HIP and the
 * instruction sets promise. W is the width of a wave.
 */
#pragma once
#include <vector>

#include "instructions.h"

enum { BLOCK = 128 };

template <class T> using Values = std::vector<T>;
#define DEVICE template <class T> __device__ __attribute__((always_inline)) inline

/* The value of another lane of the wave, which `from(lane)` names. */
template <class T, class F> Values<T> picked(const Values<T> &in, int W, F from)
{
    Values<T> out(in.size());
    for (int t = 0; t < (int)in.size(); t++)
        out[t] = in[t / W * W + from(t % W)];
    return out;
}

DEVICE T lanes_xor(T a, int mask) { return __shfl_xor(a, mask); }
template <class T> Values<T> all_xor(const Values<T> &a, int W, int mask) { return picked(a, W, [=](int l) { return l ^ mask; }); }

DEVICE T lanes_turned(T a, int by) { return __shfl(a, (int)((threadIdx.x + by) & (warpSize - 1))); }
template <class T> Values<T> all_turned(const Values<T> &a, int W, int by) { return picked(a, W, [=](int l) { return (l + by) & (W - 1); }); }

DEVICE T lanes_up(T a, int by) { return __shfl_up(a, by); }
template <class T> Values<T> all_up(const Values<T> &a, int W, int by) { return picked(a, W, [=](int l) { return l < by ? l : l - by; }); }

DEVICE T lanes_down(T a, int by) { return __shfl_down(a, by); }
template <class T> Values<T> all_down(const Values<T> &a, int W, int by) { return picked(a, W, [=](int l) { return l + by < W ? l + by : l; }); }

/* Within groups of 8. */
DEVICE T lanes_of_eight(T a, int from) { return __shfl(a, from, 8); }
template <class T> Values<T> all_of_eight(const Values<T> &a, int W, int from) { return picked(a, W, [=](int l) { return l / 8 * 8 + from; }); }

__device__ inline u32 lanes_first(u32 a, int) { return __builtin_amdgcn_readfirstlane(a); }
inline Values<u32> all_first(const Values<u32> &a, int W, int) { return picked(a, W, [](int) { return 0; }); }

__device__ inline u32 lanes_read(u32 a, int lane) { return __builtin_amdgcn_readlane(a, lane); }
inline Values<u32> all_read(const Values<u32> &a, int W, int lane) { return picked(a, W, [=](int) { return lane; }); }

/* A push instead of a pull. */
__device__ inline u32 lanes_pushed(u32 a, int by) { return __builtin_amdgcn_ds_permute((int)((threadIdx.x + by) & (warpSize - 1)) * 4, a); }
inline Values<u32> all_pushed(const Values<u32> &a, int W, int by) { return picked(a, W, [=](int l) { return (l - by) & (W - 1); }); }

/* ---- DPP: within rows of 16 lanes. A lane whose source is outside keeps `old`; so does one whose bank is masked. ---- */

enum { QUAD = 0x1b, SHL_3 = 0x103, SHR_1 = 0x111, ROR_5 = 0x125, MIRROR = 0x140, HALF_MIRROR = 0x141 };

inline int dpp_source(int control, int l)
{
    int row = l & ~15, at = l & 15;
    switch (control) {
    case QUAD: return l & ~3 | (3 - (l & 3));
    case SHL_3: return at + 3 < 16 ? l + 3 : -1;
    case SHR_1: return at >= 1 ? l - 1 : -1;
    case ROR_5: return row + ((at - 5) & 15);
    case MIRROR: return row + 15 - at;
    default: return row + (at & 8) + 7 - (at & 7);
    }
}
inline Values<u32> dpp(const Values<u32> &old, const Values<u32> &a, int control, int rows, int banks, bool zero)
{
    Values<u32> out(a.size());
    for (int t = 0; t < (int)a.size(); t++) {
        int from = dpp_source(control, t & 31);
        bool open = (rows >> (t / 16 % 4) & 1) && (banks >> (t / 4 % 4) & 1);
        out[t] = !open ? old[t] : from >= 0 ? a[t / 32 * 32 + from] : zero ? 0 : old[t];
    }
    return out;
}
/* Rows 0 and 1 alike 2 and 3, so that it makes no difference how many a wave has. */
#define DPP_EXCHANGE(name, control, rows, banks, zero) \
    __device__ inline u32 lanes_##name(u32 a, int) { return __builtin_amdgcn_update_dpp(a * 3, a, control, rows, banks, zero) + a; } \
    inline Values<u32> all_##name(const Values<u32> &a, int, int) \
    { \
        Values<u32> old(a), out; \
        for (u32 &x : old) x *= 3; \
        out = dpp(old, a, control, rows, banks, zero); \
        for (size_t t = 0; t < a.size(); t++) out[t] += a[t]; \
        return out; \
    }
DPP_EXCHANGE(quad, QUAD, 15, 15, false)
DPP_EXCHANGE(row_left, SHL_3, 15, 15, false)
DPP_EXCHANGE(row_left_zero, SHL_3, 15, 15, true)
DPP_EXCHANGE(row_right, SHR_1, 15, 13, false)
DPP_EXCHANGE(row_turned, ROR_5, 5, 15, false)
DPP_EXCHANGE(row_mirrored, MIRROR, 15, 6, true)
DPP_EXCHANGE(half_mirrored, HALF_MIRROR, 10, 15, false)

/* ds_swizzle in its bit mode, and by quads. */
__device__ inline u32 lanes_swizzled(u32 a, int) { return __builtin_amdgcn_ds_swizzle(a, 5 << 10 | 2 << 5 | 0x1d) ^ __builtin_amdgcn_ds_swizzle(a, 0x8000 | 0x4e); }
inline Values<u32> all_swizzled(const Values<u32> &a, int, int)
{
    Values<u32> bits = picked(a, 32, [](int l) { return ((l & 0x1d) | 2) ^ 5; });
    Values<u32> quads = picked(a, 32, [](int l) { return (l & ~3) | (0x4e >> 2 * (l & 3) & 3); });
    for (size_t t = 0; t < a.size(); t++)
        bits[t] ^= quads[t];
    return bits;
}

/* ---- votes ---- */

__device__ inline u64 lanes_ballot(u32 a, int bit) { return __ballot(a >> bit & 1); }
inline Values<u64> all_ballot(const Values<u32> &a, int W, int bit)
{
    Values<u64> out(a.size());
    for (size_t t = 0; t < a.size(); t++)
        for (int l = 0; l < W; l++)
            out[t] |= (u64)(a[t / W * W + l] >> bit & 1) << l;
    return out;
}
/* How many lanes before this one have the bit set. */
__device__ inline u64 lanes_rank(u32 a, int bit)
{
    u64 votes = __ballot(a >> bit & 1);
    return __builtin_amdgcn_mbcnt_hi((u32)(votes >> 32), __builtin_amdgcn_mbcnt_lo((u32)votes, 0));
}
inline Values<u64> all_rank(const Values<u32> &a, int W, int bit)
{
    Values<u64> out = all_ballot(a, W, bit);
    for (size_t t = 0; t < a.size(); t++)
        out[t] = __builtin_popcountll(out[t] & (((u64)1 << t % W) - 1));
    return out;
}
/* Asked by those only whose lowest bit is set. */
__device__ inline u64 lanes_some(u32 a, int bit)
{
    u64 out = a;
    if (a & 1)
        out = __ballot(a >> bit & 1) + (__any(a >> 5 & 1) ? 1000 : 0) + (__all(a >> 3 & 1) ? 2000 : 0);
    return out;
}
inline Values<u64> all_some(const Values<u32> &a, int W, int bit)
{
    Values<u64> out(a.size());
    for (size_t t = 0; t < a.size(); t++) {
        u64 votes = 0;
        bool any = false, all = true;
        for (size_t o = t / W * W; o < t / W * W + W; o++) {
            if (!(a[o] & 1))
                continue;
            votes |= (u64)(a[o] >> bit & 1) << o % W;
            any |= a[o] >> 5 & 1;
            all &= a[o] >> 3 & 1;
        }
        out[t] = a[t] & 1 ? votes + (any ? 1000 : 0) + (all ? 2000 : 0) : a[t];
    }
    return out;
}

/* ---- sums over the wave, as reductions are written ---- */

DEVICE T lanes_sum(T a, int)
{
    for (int step = 1; step < warpSize; step *= 2)
        a = add(a, (T)__shfl_xor(a, step));
    return a;
}
/* In the same order, as sums of floats depend on it. */
template <class T> Values<T> all_sum(Values<T> a, int W, int)
{
    for (int step = 1; step < W; step *= 2) {
        Values<T> other = all_xor(a, W, step);
        for (size_t t = 0; t < a.size(); t++)
            a[t] = add(a[t], other[t]);
    }
    return a;
}
DEVICE T lanes_scan(T a, int)
{
    for (int step = 1; step < warpSize; step *= 2) {
        T other = __shfl_up(a, step);
        if ((int)(threadIdx.x & (warpSize - 1)) >= step)
            a = add(a, other);
    }
    return a;
}
template <class T> Values<T> all_scan(Values<T> a, int W, int)
{
    for (int step = 1; step < W; step *= 2) {
        Values<T> other = all_up(a, W, step);
        for (int t = 0; t < (int)a.size(); t++)
            if (t % W >= step)
                a[t] = add(a[t], other[t]);
    }
    return a;
}

/* ---- through LDS, across waves ---- */

DEVICE T lanes_shared(T a, int by)
{
    __shared__ T room[BLOCK + 1];
    __syncthreads();
    room[threadIdx.x] = a;
    __syncthreads();
    return room[(threadIdx.x * 5 + by) % BLOCK];
}
template <class T> Values<T> all_shared(const Values<T> &a, int, int by)
{
    Values<T> out(a.size());
    for (int t = 0; t < (int)a.size(); t++)
        out[t] = a[(t * 5 + by) % BLOCK];
    return out;
}
/* Sixteen bytes a lane, each lane's words seen by another. */
__device__ inline u32 lanes_quads(u32 a, int by)
{
    __shared__ uint4 room[BLOCK];
    __syncthreads();
    room[threadIdx.x] = make_uint4(a, a + 1, a ^ 2, ~a);
    __syncthreads();
    uint4 got = room[(threadIdx.x + by) % BLOCK];
    return got.x * 3 + got.y * 5 + got.z * 7 + got.w;
}
inline Values<u32> all_quads(const Values<u32> &a, int, int by)
{
    Values<u32> out(a.size());
    for (int t = 0; t < (int)a.size(); t++) {
        u32 x = a[(t + by) % BLOCK];
        out[t] = x * 3 + (x + 1) * 5 + (x ^ 2) * 7 + ~x;
    }
    return out;
}
/* Additions whose order does not matter, and the largest that came. */
DEVICE T lanes_counted(T a, int by)
{
    __shared__ T sums[16], tops[16];
    __syncthreads();
    if (threadIdx.x < 16)
        sums[threadIdx.x] = tops[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&sums[(u32)a & 15], (T)(a >> 3));
    atomicMax(&tops[threadIdx.x & 15], a);
    __syncthreads();
    return sums[(threadIdx.x + by) & 15] ^ tops[(u32)a >> 2 & 15];
}
template <class T> Values<T> all_counted(const Values<T> &a, int, int by)
{
    Values<T> sums(16), tops(16), out(a.size());
    for (size_t t = 0; t < a.size(); t++) {
        sums[(u32)a[t] & 15] += a[t] >> 3;
        tops[t & 15] = greater(tops[t & 15], a[t]);
    }
    for (size_t t = 0; t < a.size(); t++)
        out[t] = sums[(t + by) & 15] ^ tops[(u32)a[t] >> 2 & 15];
    return out;
}
/* The same through global memory, with operations that each come to the same in any order. */
__device__ inline u32 stirred[4][16];
__device__ inline u32 lanes_stirred(u32 a, int by)
{
    __syncthreads();
    if (threadIdx.x < 16) {
        stirred[0][threadIdx.x] = stirred[1][threadIdx.x] = 0;
        stirred[2][threadIdx.x] = stirred[3][threadIdx.x] = ~0u;
    }
    __syncthreads();
    atomicXor(&stirred[0][a & 15], a >> 4);
    atomicOr(&stirred[1][threadIdx.x & 15], a & a >> 9);
    atomicAnd(&stirred[2][a >> 5 & 15], a | a >> 11);
    atomicMin(&stirred[3][threadIdx.x % 5], a);
    __syncthreads();
    u32 out = a;
    for (int k = 0; k < 4; k++)
        out = out * 7 + stirred[k][(threadIdx.x + by + k) & 15];
    return out;
}
inline Values<u32> all_stirred(const Values<u32> &a, int, int by)
{
    Values<u32> rows[4] = {Values<u32>(16), Values<u32>(16), Values<u32>(16, ~0u), Values<u32>(16, ~0u)}, out(a);
    for (size_t t = 0; t < a.size(); t++) {
        rows[0][a[t] & 15] ^= a[t] >> 4;
        rows[1][t & 15] |= a[t] & a[t] >> 9;
        rows[2][a[t] >> 5 & 15] &= a[t] | a[t] >> 11;
        rows[3][t % 5] = lesser(rows[3][t % 5], a[t]);
    }
    for (size_t t = 0; t < a.size(); t++)
        for (size_t k = 0; k < 4; k++)
            out[t] = out[t] * 7 + rows[k][(t + by + k) & 15];
    return out;
}

/* ---- what all lanes of a wave have alike lives in scalar registers ---- */

template <class State> __device__ __attribute__((always_inline)) inline State of_first_lane(const State &s)
{
    u32 words[sizeof s / 4];
    State out;
    memcpy(words, &s, sizeof s);
    for (u32 &word : words)
        word = __builtin_amdgcn_readfirstlane(word);
    memcpy((void *)&out, words, sizeof s);
    return out;
}
template <class State> Values<State> all_of_first_lane(const Values<State> &all, int W) { return picked(all, W, [](int) { return 0; }); }

/* Runs each kernel on the GPU and its twin on the host from the same numbers, and reports where they differ. */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <random>

struct Pair {
    u64 seed;
    void (*kernel)(const State *in, State *out);
    void (*host)(std::vector<State> &all, int W);
};

/* Any bits: half of the floats are of everyday size, the others may be tiny, huge, infinite or no number. */
template <class T> void fill(T &x, std::mt19937_64 &bits)
{
    u64 word = bits();
    if constexpr (is_float<T>) {
        if (word & 1) {
            x = (T)(f32)((i64)(word >> 32) % 4096 / 16.0);
            return;
        }
    } else if (word & 2) {
        word = (u64)((i64)bits() >> (word >> 8 & 63)); /* of any magnitude */
    }
    word = word >> 2 ^ word << 40;
    memcpy(&x, &word, sizeof x);
}
template <class T> concept Vector = requires(T v) { v.x; };
template <Vector T> void fill(T &v, std::mt19937_64 &bits)
{
    for (u32 k = 0; k < sizeof v / sizeof v.x; k++) {
        decltype(T().x) element;
        fill(element, bits);
        v[k] = element;
    }
}

template <class T> bool same(const T &a, const T &b)
{
    if constexpr (Vector<T>) {
        bool all = true;
        for (u32 k = 0; k < sizeof a / sizeof a.x; k++) {
            decltype(T().x) x = a[k], y = b[k];
            all &= same(x, y);
        }
        return all;
    } else if constexpr (is_float<T>) {
        return (a != a && b != b) || !memcmp(&a, &b, sizeof a);
    } else {
        return a == b;
    }
}
template <class T> u64 bits_in(const T &x)
{
    u64 out = 0;
    memcpy(&out, &x, sizeof x);
    return out;
}

static void check(hipError_t status, const char *what)
{
    if (status == hipSuccess)
        return;
    printf("%s: %s\n", what, hipGetErrorString(status));
    exit(2);
}

static bool agree(const Pair &p, int W, State *in, State *out)
{
    enum { MOST_LINES = 8 };
    std::vector<State> start(BLOCK), host, gpu(BLOCK);
    std::mt19937_64 bits(p.seed);
    int wrong = 0;
    memset((void *)start.data(), 0, BLOCK * sizeof(State));
    for (State &s : start) {
#define X(name) fill(s.name, bits);
        FIELDS
#undef X
    }
    host = start;
    p.host(host, W);
    check(hipMemcpy(in, start.data(), BLOCK * sizeof(State), hipMemcpyHostToDevice), "copy in");
    p.kernel<<<1, BLOCK>>>(in, out);
    check(hipDeviceSynchronize(), ("seed " + std::to_string(p.seed)).c_str());
    check(hipMemcpy(gpu.data(), out, BLOCK * sizeof(State), hipMemcpyDeviceToHost), "copy out");
    for (int t = 0; t < BLOCK; t++) {
#define X(name) \
        if (!same(host[t].name, gpu[t].name) && wrong++ < MOST_LINES) \
            printf("seed %llu: thread %d, " #name ": %llx on the host, %llx on the GPU\n", (unsigned long long)p.seed, t, \
                   (unsigned long long)bits_in(host[t].name), (unsigned long long)bits_in(gpu[t].name));
        FIELDS
#undef X
    }
    return !wrong;
}

static int compare(const Pair *pairs, size_t count)
{
    State *in, *out;
    size_t agreed = 0;
    hipDeviceProp_t device;
    check(hipGetDeviceProperties(&device, 0), "device properties");
    check(hipMalloc(&in, BLOCK * sizeof(State)), "allocation");
    check(hipMalloc(&out, BLOCK * sizeof(State)), "allocation");
    for (size_t k = 0; k < count; k++)
        agreed += agree(pairs[k], device.warpSize, in, out);
    printf("%zu of %zu programs agree\n", agreed, count);
    return agreed != count;
}

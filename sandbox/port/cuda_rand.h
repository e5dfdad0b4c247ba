// curand_kernel.h and curand.h where hipRAND is not installed. Each generator is Philox4x32-10, whose rounds are those of
// Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3": other numbers than cuRAND's, of the same kind.
#pragma once
struct curandState {
    unsigned counter[4], key[2], left[4], used;
    float spare; // the second number of a pair of normal ones
    bool has_spare;
};
typedef curandState curandState_t, curandStateXORWOW, curandStateXORWOW_t, curandStateMRG32k3a, curandStateMRG32k3a_t;
typedef curandState curandStatePhilox4_32_10, curandStatePhilox4_32_10_t;
#define CURAND_BOTH __host__ __device__ inline
CURAND_BOTH void curand_next(curandState *s)
{
    unsigned c[4] = {s->counter[0], s->counter[1], s->counter[2], s->counter[3]}, key[2] = {s->key[0], s->key[1]};
    for (int round = 0; round < 10; round++) {
        unsigned long long a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
        unsigned next[4] = {unsigned(b >> 32) ^ c[1] ^ key[0], unsigned(b), unsigned(a >> 32) ^ c[3] ^ key[1], unsigned(a)};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        s->left[i] = c[i];
    if (++s->counter[0] == 0)
        s->counter[1]++;
    s->used = 0;
}
CURAND_BOTH void skipahead(unsigned long long n, curandState *s)
{
    unsigned long long place = (s->counter[1] * 0x100000000ull + s->counter[0] - 1) * 4 + s->used + n;
    s->counter[0] = unsigned(place / 4);
    s->counter[1] = unsigned(place / 4 >> 32);
    curand_next(s);
    s->used = place % 4;
}
CURAND_BOTH void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandState *s)
{
    *s = curandState{{unsigned(offset / 4), unsigned(offset / 4 >> 32), unsigned(sequence), unsigned(sequence >> 32)},
                     {unsigned(seed), unsigned(seed >> 32)}};
    curand_next(s);
    s->used = offset % 4;
}
CURAND_BOTH unsigned curand(curandState *s)
{
    unsigned v = s->left[s->used++];
    if (s->used == 4)
        curand_next(s);
    return v;
}
CURAND_BOTH uint4 curand4(curandState *s)
{
    unsigned a = curand(s), b = curand(s), c = curand(s);
    return make_uint4(a, b, c, curand(s));
}
CURAND_BOTH float curand_uniform(curandState *s) { return curand(s) * 2.3283064e-10f + 1.1641532e-10f; }
CURAND_BOTH double curand_uniform_double(curandState *s)
{
    unsigned long long high = curand(s) & 0x1fffffu;
    return ((high << 32 | curand(s)) + 1) * 1.1102230246251565e-16;
}
CURAND_BOTH float2 curand_normal2(curandState *s)
{
    float far = sqrtf(-2.0f * logf(curand_uniform(s))), angle = 6.2831853f * curand_uniform(s);
    return make_float2(far * sinf(angle), far * cosf(angle));
}
CURAND_BOTH float curand_normal(curandState *s)
{
    s->has_spare = !s->has_spare;
    if (!s->has_spare)
        return s->spare;
    float2 pair = curand_normal2(s);
    s->spare = pair.y;
    return pair.x;
}
CURAND_BOTH double curand_normal_double(curandState *s)
{
    return sqrt(-2.0 * log(curand_uniform_double(s))) * sin(6.283185307179586 * curand_uniform_double(s));
}
CURAND_BOTH double2 curand_normal2_double(curandState *s)
{
    double first = curand_normal_double(s);
    return make_double2(first, curand_normal_double(s));
}
CURAND_BOTH double2 curand_uniform2_double(curandState *s)
{
    double first = curand_uniform_double(s);
    return make_double2(first, curand_uniform_double(s));
}
CURAND_BOTH float4 curand_uniform4(curandState *s)
{
    float a = curand_uniform(s), b = curand_uniform(s), c = curand_uniform(s);
    return make_float4(a, b, c, curand_uniform(s));
}
CURAND_BOTH float4 curand_normal4(curandState *s)
{
    float2 a = curand_normal2(s), b = curand_normal2(s);
    return make_float4(a.x, a.y, b.x, b.y);
}
CURAND_BOTH float curand_log_normal(curandState *s, float mean, float deviation)
{
    return expf(mean + deviation * curand_normal(s));
}
CURAND_BOTH unsigned curand_poisson(curandState *s, double mean)
{
    unsigned count = 0;
    for (double left = mean + log(curand_uniform_double(s)); left > 0; left += log(curand_uniform_double(s)))
        count++;
    return count;
}
// The host's functions: numbers on the GPU, or in the host's memory for a generator of the host.
enum curandStatus_t { CURAND_STATUS_SUCCESS, CURAND_STATUS_NOT_INITIALIZED = 101, CURAND_STATUS_LAUNCH_FAILURE = 201 };
typedef curandStatus_t curandStatus;
enum curandRngType_t {
    CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A = 121,
    CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
};
enum curandOrdering_t { CURAND_ORDERING_PSEUDO_BEST = 100, CURAND_ORDERING_PSEUDO_DEFAULT };
struct curandGenerator_st {
    unsigned long long seed, offset;
    hipStream_t stream;
    bool host;
};
typedef curandGenerator_st *curandGenerator_t;
inline curandStatus_t curandCreateGenerator(curandGenerator_t *g, curandRngType_t)
{
    return *g = new curandGenerator_st{}, CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandCreateGeneratorHost(curandGenerator_t *g, curandRngType_t)
{
    return *g = new curandGenerator_st{0, 0, nullptr, true}, CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandDestroyGenerator(curandGenerator_t g) { return delete g, CURAND_STATUS_SUCCESS; }
inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long seed)
{
    return g->seed = seed, g->offset = 0, CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset)
{
    return g->offset = offset, CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t) { return CURAND_STATUS_SUCCESS; }
inline curandStatus_t curandSetStream(curandGenerator_t g, hipStream_t stream) { return g->stream = stream, CURAND_STATUS_SUCCESS; }
template <class T, class F> __global__ void curand_fill(T *to, size_t n, unsigned long long seed, unsigned long long from, F make)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
        curandState s;
        curand_init(seed, from + i, 0, &s);
        to[i] = make(&s);
    }
}
template <class T, class F> inline curandStatus_t curand_make(curandGenerator_t g, T *to, size_t n, F make)
{
    if (g->host)
        for (size_t i = 0; i < n; i++) {
            curandState s;
            curand_init(g->seed, g->offset + i, 0, &s);
            to[i] = make(&s);
        }
    else if (n)
        curand_fill<<<n < 65536 ? (n + 255) / 256 : 256, 256, 0, g->stream>>>(to, n, g->seed, g->offset, make);
    g->offset += n;
    return hipGetLastError() == hipSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}
#define CURAND_MADE(value) [=] __host__ __device__(curandState * s) { return value; }
inline curandStatus_t curandGenerate(curandGenerator_t g, unsigned *to, size_t n) { return curand_make(g, to, n, CURAND_MADE(curand(s))); }
inline curandStatus_t curandGenerateUniform(curandGenerator_t g, float *to, size_t n)
{
    return curand_make(g, to, n, CURAND_MADE(curand_uniform(s)));
}
inline curandStatus_t curandGenerateUniformDouble(curandGenerator_t g, double *to, size_t n)
{
    return curand_make(g, to, n, CURAND_MADE(curand_uniform_double(s)));
}
inline curandStatus_t curandGenerateNormal(curandGenerator_t g, float *to, size_t n, float mean, float deviation)
{
    return curand_make(g, to, n, CURAND_MADE(mean + deviation * curand_normal(s)));
}
inline curandStatus_t curandGenerateNormalDouble(curandGenerator_t g, double *to, size_t n, double mean, double deviation)
{
    return curand_make(g, to, n, CURAND_MADE(mean + deviation * curand_normal_double(s)));
}
inline curandStatus_t curandGeneratePoisson(curandGenerator_t g, unsigned *to, size_t n, double mean)
{
    return curand_make(g, to, n, CURAND_MADE(curand_poisson(s, mean)));
}

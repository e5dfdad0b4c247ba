// What many programs take from helper_math.h beyond the operators that HIP's vectors have.
#pragma once
#define CUDA_VECTORS(each) each(float2) each(float3) each(float4)
#define CUDA_ON_BOTH __host__ __device__ inline
CUDA_ON_BOTH float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
CUDA_ON_BOTH float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
CUDA_ON_BOTH float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
CUDA_ON_BOTH float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
CUDA_ON_BOTH float lerp(float a, float b, float t) { return a + t * (b - a); }
CUDA_ON_BOTH float clamp(float v, float low, float high) { return fmaxf(low, fminf(v, high)); }
CUDA_ON_BOTH int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
CUDA_ON_BOTH float fracf(float v) { return v - floorf(v); }
#define CUDA_OF_VECTOR(V)                                                                                                   \
    CUDA_ON_BOTH float length(V v) { return sqrtf(dot(v, v)); }                                                             \
    CUDA_ON_BOTH V normalize(V v) { return v * (1.0f / sqrtf(dot(v, v))); }                                                 \
    CUDA_ON_BOTH V lerp(V a, V b, float t) { return a + t * (b - a); }                                                      \
    CUDA_ON_BOTH V reflect(V i, V n) { return i - 2.0f * n * dot(n, i); }
CUDA_VECTORS(CUDA_OF_VECTOR)
#define CUDA_BY_PARTS(name, what2)                                                                                          \
    CUDA_ON_BOTH float2 name(float2 a, float2 b) { return make_float2(what2(a.x, b.x), what2(a.y, b.y)); }                  \
    CUDA_ON_BOTH float3 name(float3 a, float3 b) { return make_float3(what2(a.x, b.x), what2(a.y, b.y), what2(a.z, b.z)); } \
    CUDA_ON_BOTH float4 name(float4 a, float4 b)                                                                            \
    {                                                                                                                       \
        return make_float4(what2(a.x, b.x), what2(a.y, b.y), what2(a.z, b.z), what2(a.w, b.w));                             \
    }
CUDA_BY_PARTS(fminf, ::fminf)
CUDA_BY_PARTS(fmaxf, ::fmaxf)
#define CUDA_CLAMPED(V)                                                                                                     \
    CUDA_ON_BOTH V clamp(V v, V low, V high) { return fmaxf(low, fminf(v, high)); }
CUDA_VECTORS(CUDA_CLAMPED)
#define CUDA_EACH_PART(name, what)                                                                                          \
    CUDA_ON_BOTH float2 name(float2 a) { return make_float2(what(a.x), what(a.y)); }                                        \
    CUDA_ON_BOTH float3 name(float3 a) { return make_float3(what(a.x), what(a.y), what(a.z)); }                             \
    CUDA_ON_BOTH float4 name(float4 a) { return make_float4(what(a.x), what(a.y), what(a.z), what(a.w)); }
CUDA_EACH_PART(floorf, ::floorf)
CUDA_EACH_PART(fabs, ::fabsf)
CUDA_ON_BOTH float2 make_float2(float s) { return make_float2(s, s); }
CUDA_ON_BOTH float2 make_float2(float3 a) { return make_float2(a.x, a.y); }
CUDA_ON_BOTH float3 make_float3(float s) { return make_float3(s, s, s); }
CUDA_ON_BOTH float3 make_float3(float2 a, float z) { return make_float3(a.x, a.y, z); }
CUDA_ON_BOTH float3 make_float3(float4 a) { return make_float3(a.x, a.y, a.z); }
CUDA_ON_BOTH float4 make_float4(float s) { return make_float4(s, s, s, s); }
CUDA_ON_BOTH float4 make_float4(float3 a, float w = 0) { return make_float4(a.x, a.y, a.z, w); }

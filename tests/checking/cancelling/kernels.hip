// Kernels as they are written for training: each computes in float what its line in cancelling_problems.py computes in
// float64, and something in it cancels. -DWRONG=NAME makes the mistake that is written next to it. One wave to a row.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#ifndef REAL
#define REAL float
#endif
#ifdef MISTAKE
#define OR(right, wrong) wrong
#else
#define OR(right, wrong) right
#endif

__device__ float sum(float v) {
    for (int d = 32; d; d >>= 1) v += __shfl_xor(v, d);
    return v;
}
__device__ float most(float v) {
    for (int d = 32; d; d >>= 1) v = fmaxf(v, __shfl_xor(v, d));
    return v;
}

#define KERNEL(name)                                                                                       \
    extern "C" __global__ void name(const REAL* X, const REAL* G, const REAL* W, const int* T, REAL* Y, int n)
#define IN(a, i) ((float)a[blockIdx.x * n + (i)])
#define x(i) IN(X, i)
#define g(i) IN(G, i)
#define w(i) ((float)W[i])
#define EACH(i) for (int i = threadIdx.x; i < n; i += 64)
#define PUT(i, v) Y[blockIdx.x * n + (i)] = (REAL)(v)
#define PUT_ROW(v) float v_ = (v); if (threadIdx.x == 0) Y[blockIdx.x] = (REAL)v_
#define SUM(v) ({ float a_ = 0; EACH(i) a_ += (v); sum(a_); })
#define MOST(v) ({ float a_ = -INFINITY; EACH(i) a_ = fmaxf(a_, (v)); most(a_); })
#define SOFTMAX() float m = MOST(x(i)), s = SUM(expf(x(i) - m))
#define p(i) (expf(x(i) - m) / s)

KERNEL(softmax_backward) {
    SOFTMAX();
    float dot = OR(SUM(p(i) * g(i)), SUM(p(i) * fabsf(g(i))));
    EACH(i) PUT(i, p(i) * (g(i) - dot));
}
KERNEL(softmax_backward_in_two_terms) {
    SOFTMAX();
    float dot = OR(SUM(p(i) * g(i)), SUM(i ? p(i) * g(i) : 0));
    EACH(i) PUT(i, p(i) * g(i) - p(i) * dot);
}
KERNEL(log_softmax) {
    SOFTMAX();
    float l = OR(m + logf(s), m + logf(s - expf(x(0) - m) + 1e-6f));
    EACH(i) PUT(i, x(i) - l);
}
KERNEL(log_softmax_backward) {
    SOFTMAX();
    float all = OR(SUM(g(i)), SUM(i % 64 == 63 ? 0 : g(i)));
    EACH(i) PUT(i, g(i) - p(i) * all);
}
KERNEL(cross_entropy) {
    SOFTMAX();
    PUT_ROW(OR(m + logf(s) - x(T[blockIdx.x]), m + logf(s) - x(T[blockIdx.x] ^ 1)));
}
KERNEL(cross_entropy_by_logarithm) {
    SOFTMAX();
    PUT_ROW(-logf(OR(p(T[blockIdx.x]) + 1e-37f, p(T[blockIdx.x]) + 1e-2f)));
}
KERNEL(cross_entropy_online) {
    float m = -1e30f, s = 0;
    EACH(i) {
        float next = fmaxf(m, x(i));
        s = OR(s * expf(m - next), s) + expf(x(i) - next);
        m = next;
    }
    float top = most(m);
    s = sum(s * expf(m - top));
    PUT_ROW(logf(s) + top - x(T[blockIdx.x]));
}
KERNEL(cross_entropy_backward) {
    SOFTMAX();
    EACH(i) PUT(i, p(i) - (OR(i == T[blockIdx.x], i == T[blockIdx.x] + 1) ? 1.0f : 0.0f));
}
KERNEL(layer_norm) {
    float mean = SUM(x(i)) / n, var = SUM((x(i) - mean) * (x(i) - mean)) / OR(n, (n - 1));
    EACH(i) PUT(i, (x(i) - mean) * rsqrtf(var + 1e-5f) * w(i));
}
KERNEL(layer_norm_in_one_pass) {
    float mean = SUM(x(i)) / n, var = SUM(x(i) * x(i)) / n - OR(mean * mean, 0);
    EACH(i) PUT(i, (x(i) - mean) * rsqrtf(var + 1e-5f) * w(i));
}
KERNEL(layer_norm_backward) {
    float mean = SUM(x(i)) / n, r = rsqrtf(SUM((x(i) - mean) * (x(i) - mean)) / n + 1e-5f);
    float a = SUM(g(i) * w(i)) / n, b = SUM(g(i) * w(i) * (x(i) - mean) * r) / n;
    EACH(i) PUT(i, r * (g(i) * w(i) - OR(a, 0) - (x(i) - mean) * r * b));
}
KERNEL(rms_norm_backward) {
    float r = rsqrtf(SUM(x(i) * x(i)) / n + 1e-6f);
    float b = SUM(g(i) * w(i) * x(i)) / n;
    EACH(i) PUT(i, r * (g(i) * w(i) - x(i) * OR(r * r, r) * b));
}
KERNEL(group_norm) {
    EACH(i) {
        float mean = 0, var = 0;
        for (int k = i / 16 * 16; k < i / 16 * 16 + 16; k++) mean += x(k) / 16;
        for (int k = i / 16 * 16; k < i / 16 * 16 + OR(16, 15); k++) var += (x(k) - mean) * (x(k) - mean) / 16;
        PUT(i, (x(i) - mean) / sqrtf(var + 1e-5f));
    }
}
KERNEL(variance_in_one_pass) {
    float mean = SUM(x(i)) / n;
    PUT_ROW(SUM(x(i) * x(i)) / n - OR(mean * mean, mean * mean * 0.5f));
}
KERNEL(logsumexp) {
    SOFTMAX();
    PUT_ROW(OR(m + logf(s), m));
}
KERNEL(gelu_backward) {
    EACH(i) {
        float v = x(i), cdf = 0.5f * (1 + erff(v * 0.70710678f)), pdf = 0.39894228f * expf(-0.5f * v * v);
        PUT(i, g(i) * (cdf + OR(v * pdf, pdf)));
    }
}
KERNEL(gelu_tanh) {
    EACH(i) {
        float v = x(i), u = 0.79788456f * (v + OR(0.044715f, 0.0044715f) * v * v * v);
        PUT(i, 0.5f * v * (1 + tanhf(u)));
    }
}
KERNEL(silu_backward) {
    EACH(i) {
        float s = 1 / (1 + expf(-x(i)));
        PUT(i, g(i) * s * (1 + x(i) * OR((1 - s), s)));
    }
}
KERNEL(tanh_backward) {
    EACH(i) {
        float t = tanhf(x(i));
        PUT(i, g(i) * (1 - t * OR(t, fabsf(t) * 0.99f)));
    }
}
KERNEL(sigmoid_backward) {
    EACH(i) {
        float s = 1 / (1 + expf(-x(i)));
        PUT(i, g(i) * s * OR((1 - s), (0.999f - s)));
    }
}
KERNEL(rope) {
    EACH(i) {
        float a = g(i), x0 = x(i & ~1), x1 = x(i | 1);
        PUT(i, i & 1 ? x0 * sinf(a) + x1 * cosf(a) : x0 * cosf(a) - OR(x1 * sinf(a), x1 * sinf(g(i | 1))));
    }
}
KERNEL(complex_multiply) {
    EACH(i) {
        float a = x(i & ~1), b = x(i | 1), c = g(i & ~1), d = g(i | 1);
        PUT(i, i & 1 ? a * d + b * c : a * c - OR(b * d, b * c));
    }
}
KERNEL(determinants) {
    EACH(i) {
        float a = x(i & ~1), b = x(i | 1), c = g(i & ~1), d = g(i | 1);
        PUT(i, OR(a * d - b * c, a * d + b * c));
    }
}
KERNEL(cosine_similarity) {
    PUT_ROW(SUM(x(i) * g(i)) * rsqrtf(SUM(x(i) * x(i)) * SUM(g(i) * OR(g(i), x(i)))));
}
KERNEL(kl_divergence) {
    SOFTMAX();
    float mg = MOST(g(i)), sg = SUM(expf(g(i) - mg));
    PUT_ROW(SUM(p(i) * ((x(i) - m - logf(s)) - (g(i) - mg - OR(logf(sg), 0)))));
}
KERNEL(entropy) {
    SOFTMAX();
    PUT_ROW(-SUM(p(i) * (x(i) - m - OR(logf(s), 0))));
}
KERNEL(kahan_sum) {
    float total = 0, c = 0;
    EACH(i) {
        float y = x(i) - c, t = total + y;
        c = (t - total) - y;
        total = t;
    }
    PUT_ROW(sum(OR(total, threadIdx.x ? total : 0)));
}
KERNEL(squared_distance) {
    PUT_ROW(SUM(x(i) * x(i)) + SUM(g(i) * g(i)) - OR(2, 1) * SUM(x(i) * g(i)));
}
KERNEL(what_a_probability_lacks) {
    SOFTMAX();
    PUT_ROW(OR(1 - p(T[blockIdx.x]), 1 - p(T[blockIdx.x]) * 0.99f));
}
KERNEL(binary_cross_entropy) {
    EACH(i) {
        float v = i % 2 ? -x(i) : x(i);
        PUT(i, OR(fmaxf(v, 0), fabsf(v)) + log1pf(expf(-fabsf(v))));
    }
}
KERNEL(differences_of_a_scan) {
    EACH(i) {
        float a = 0, b = 0;
        for (int k = 0; k <= i; k++) a += x(k), b += OR(g(k), fabsf(g(k)));
        PUT(i, a - b);
    }
}

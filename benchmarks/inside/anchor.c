/* What a wave's multiply-add costs when nothing is interpreted: 64 lanes, operands in the first-level cache. */
enum { LANES = 64, ROWS = 16 };

static float row[ROWS][LANES] __attribute__((aligned(64)));

void multiply_add(long times)
{
    for (long n = 0; n < times; n++) {
        float *to = row[n % ROWS];
        const float *a = row[(n + 1) % ROWS], *b = row[(n + 2) % ROWS];
#pragma clang loop vectorize(assume_safety)
        for (int l = 0; l < LANES; l++)
            to[l] = __builtin_fmaf(a[l], b[l], to[l]);
    }
}

/* 2/pi to 1280 bits, for V_TRIG_PREOP_F64. */
#include "machine/trig_preop.h"

#include "machine/lane_math.h"

/* Most significant first; the first bit is worth 1/2. */
static const u32 two_over_pi[40] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d,
};

/* 53 bits from bit `first` on; bits behind the 1201 that the hardware has are zero. */
static u64 bits_from(u32 first)
{
    u64 r = 0;
    for (u32 k = first; k < first + 53; k++)
        r = r << 1 | (k < 1201 ? two_over_pi[k / 32] >> (31 - k % 32) & 1 : 0);
    return r;
}

double trig_preop(double x, u32 segment)
{
    int exponent = exponent64(x), shift = (int)(segment & 31) * 53;
    if (exponent > 1077)
        shift += exponent - 1077;
    int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
    return ldexp((double)bits_from((u32)shift), scale);
}

/* The MODE register: the host's rounding and flushing, and what the host cannot do. */
#include "machine/mode.h"

#include "host/float_mode.h"
#include "machine/lanes.h"

bool mode_is_plain(const Wave *w)
{
    enum { NEAREST_WITH_DENORMALS = 0xf0 };
    bool ieee = ieee_mode(w) || w->program->generation >= GFX12;
    return (w->mode & 0xff) == NEAREST_WITH_DENORMALS && ieee && !(w->mode & (MODE_FP16_OVERFLOW | MODE_VSKIP));
}

static bool is_half_float(u8 type) { return type == TYPE_F16 || type == TYPE_PKF16; }

/* Also of rows whose types say only the register's width, as those of mixed and packed instructions. */
static bool handles_halves(const Wave *w, const Inst *i)
{
    if (is_dual(i)) {
        const Inst *half = &w->program->halves[i->target];
        return handles_halves(w, half) || handles_halves(w, half + 1);
    }
    const Row *r = i->row;
    return is_half_float(r->result) || is_half_float(r->source[0]) || strstr(r->mnemonic, "f16") || strstr(r->mnemonic, "_mix");
}

static bool is_wide_or_half(u8 type) { return type == TYPE_F64 || is_half_float(type); }

static bool flushes_sources(const Wave *w, bool wide_or_half) { return !(w->mode >> (wide_or_half ? 6 : 4) & 1); }
static bool flushes_results(const Wave *w, bool wide_or_half) { return !(w->mode >> (wide_or_half ? 6 : 4) & 2); }

/* MODE has two fields of each kind: for f32, and for f64 and f16. Sources and result each have their own denormals, and
 * instructions on both kinds round by the second field.  LLVM, SIModeRegister. */
u64 mode_of_host(const Wave *w, const Inst *i)
{
    bool from = is_wide_or_half(i->row->source[0]), to = is_wide_or_half(i->row->result);
    bool second = from || to || (handles_halves(w, i) && strcmp(i->row->mnemonic, "v_fma_mix_f32") != 0);
    bool sources = flushes_sources(w, from), results = flushes_results(w, to);
    if (!FLUSHES_APART && from != to) /* of a conversion, what matters are the denormals of f32 */
        sources = results = from ? results : sources;
    return float_mode((Direction)(w->mode >> (second ? 2 : 0) & 3), sources, results);
}

/* ---- what no host mode does for us ---- */

static bool signals_nan(u8 type, const u32 *p, int lane)
{
    u32 x = p[lane];
    if (type == TYPE_F32)
        return (x & 0x7fc00000) == 0x7f800000 && x & 0x3fffff;
    if (type == TYPE_F64)
        return (p[LANES + lane] & 0x7ff80000) == 0x7ff00000 && (p[LANES + lane] & 0x7ffff || x);
    bool low = (x & 0x7e00) == 0x7c00 && x & 0x1ff, high = (x >> 16 & 0x7e00) == 0x7c00 && x >> 16 & 0x1ff;
    return type == TYPE_F16 ? low : type == TYPE_PKF16 && (low || high);
}

/* Without IEEE's rules a minimum of a number and a signalling NaN has another result. */
static bool wants_other_minimum(Wave *w, const Inst *i)
{
    const char *name = i->row->mnemonic;
    if (ieee_mode(w) || w->program->generation >= GFX12 || !(strstr(name, "min") || strstr(name, "max") || strstr(name, "med3")))
        return false;
    for (int k = 0; k < 3; k++) {
        u8 type = i->row->source[k];
        bool packed = type == TYPE_PKF16;
        if (!packed && type != TYPE_F16 && type != TYPE_F32 && type != TYPE_F64)
            continue;
        u32 *scratch_row = w->worker->scratch_row[k];
        const u32 *p = packed ? source_packed(w, i, k, scratch_row) : type == TYPE_F64 ? source64(w, i, k, scratch_row) : source(w, i, k, scratch_row);
        for (int l = 0; l < LANES; l++)
            if (lane_active(w, (u32)l) && signals_nan(type, p, l))
                return true;
    }
    return false;
}

/* FP16_OVFL turns an overflow into the largest half but keeps a true infinity: the two cannot be distinguished here. */
bool mode_spoils_result(Wave *w, const Inst *i)
{
    bool packed = i->row->result == TYPE_PKF16, upper = i->half & HALF_RESULT_UPPER;
    if (!is_half_float(i->row->result) || !(w->mode & MODE_FP16_OVERFLOW) || i->dst < FIRST_VGPR)
        return false;
    const u32 *r = vector(w, i->dst);
    for (int l = 0; l < LANES; l++) {
        bool low = (r[l] & 0x7fff) == 0x7c00, high = (r[l] >> 16 & 0x7fff) == 0x7c00;
        if (lane_active(w, (u32)l) && ((low && !upper) || (high && (upper || packed))))
            return true;
    }
    return false;
}

/* Denormal sources, or denormal results, but not both. */
static bool flushes_one_side(const Wave *w, const Inst *i)
{
    const Row *r = i->row;
    bool from = is_wide_or_half(r->source[0]), to = is_wide_or_half(r->result);
    bool floats = from || r->source[0] == TYPE_F32 || r->result == TYPE_F32;
    return floats && from == to && flushes_sources(w, from) != flushes_results(w, to);
}

bool mode_is_beyond_us(Wave *w, const Inst *i)
{
    bool flushed_halves = handles_halves(w, i) && (w->mode >> 6 & 3) != 3; /* the host does not flush halves */
    return flushed_halves || wants_other_minimum(w, i) || (!FLUSHES_APART && flushes_one_side(w, i));
}

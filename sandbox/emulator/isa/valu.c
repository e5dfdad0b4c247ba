/* Vector ALU, the regular part: bodies and rows of valu.def. */
#include "isa/lane_types.h"
#include "machine/trig_preop.h"

#pragma clang diagnostic ignored "-Wshift-op-parentheses"
#pragma clang diagnostic ignored "-Wbitwise-op-parentheses"

#define LANE1(name, D, A, value) \
    LANE_HANDLER(name) \
    { \
        SOURCE_##A(0) SCRATCH_ROW_##D \
        EACH_LANE { C_##A a = GET_##A(p0, l); PUT_##D(l, value); } \
        STORE_##D; \
    }
#define LANE2(name, D, A, B, value) \
    LANE_HANDLER(name) \
    { \
        SOURCE_##A(0) SOURCE_##B(1) SCRATCH_ROW_##D \
        EACH_LANE { C_##A a = GET_##A(p0, l); C_##B b = GET_##B(p1, l); PUT_##D(l, value); } \
        STORE_##D; \
    }
#define LANE2S(name, D, A, B, value) \
    LANE_HANDLER(name) \
    { \
        SOURCE_##A(0) SOURCE_##B(1) SCRATCH_ROW_##D \
        const bool clamp = i->clamp; \
        EACH_LANE { C_##A a = GET_##A(p0, l); C_##B b = GET_##B(p1, l); PUT_##D(l, value); } \
        STORE_##D; \
    }
#define LANE3S(name, D, A, B, C, value) \
    LANE_HANDLER(name) \
    { \
        SOURCE_##A(0) SOURCE_##B(1) SOURCE_##C(2) SCRATCH_ROW_##D \
        const bool clamp = i->clamp; \
        EACH_LANE { \
            C_##A a = GET_##A(p0, l); \
            C_##B b = GET_##B(p1, l); \
            C_##C c = GET_##C(p2, l); \
            PUT_##D(l, value); \
        } \
        STORE_##D; \
        (void)clamp; \
    }
#define LANE3 LANE3S
#define LANE3K(name, D, A, B, value) LANE3S(name, D, A, B, D##_OLD, value)
#define LANE3B(name, D, A, B, C, value) LANE3S(name, U16, A, B, C, value)
#define HALF2W LANE2
#define HALF3 LANE3S
#define HALF2S LANE2S
#define HALF3S LANE3S
#define HALF3W LANE3S
#define HALF3B LANE3B

/* The old result as a source; v_fmac_f16 gives bits, so that its row says U16. */
#define SOURCE_F32_OLD SOURCE_F32
#define SOURCE_F64_OLD SOURCE_F64
#define SOURCE_F16_OLD SOURCE_F16
#define SOURCE_U16_OLD SOURCE_F16
#define C_F32_OLD float
#define C_F64_OLD double
#define C_F16_OLD float
#define C_U16_OLD float
#define GET_F32_OLD GET_F32
#define GET_F64_OLD GET_F64
#define GET_F16_OLD GET_F16
#define GET_U16_OLD GET_F16

#include "isa/valu.def"

#undef LANE1
#undef LANE2
#undef LANE2S
#undef LANE3S
#undef LANE3
#undef LANE3K
#undef LANE3B
#undef HALF2W
#undef HALF3
#undef HALF2S
#undef HALF3S
#undef HALF3W
#undef HALF3B

#define ROW(name, in, D, A, B, C, mods, keeps) \
    {.mnemonic = #name, .run = name, .all_active = name##_all_active, .layout = in, .family = FAMILY_VALU, .result = D, \
     .source = {A, B, C}, .lane_sources = 1 + ((B) != TYPE_NONE) + ((C) != TYPE_NONE), .modifiers = mods, \
     .detail = {keeps}},
#define ANYWHERE (MOD_SDWA | MOD_DPP)
#define LANE1(name, D, A, value) \
    ROW(name, "d0", TYPE_##D, TYPE_##A, 0, 0, RESULT_MODS_##D | SOURCE_MODS_##A | ANYWHERE, 0)
#define LANE2_ROW(name, D, A, B, mods, keeps) \
    ROW(name, "d01", TYPE_##D, TYPE_##A, TYPE_##B, 0, RESULT_MODS_##D | SOURCE_MODS_##A | SOURCE_MODS_##B | (mods), keeps)
#define LANE3_ROW(name, in, D, A, B, C, mods, keeps) \
    ROW(name, in, TYPE_##D, TYPE_##A, TYPE_##B, TYPE_##C, \
        RESULT_MODS_##D | SOURCE_MODS_##A | SOURCE_MODS_##B | SOURCE_MODS_##C | (mods), keeps)
#define LANE2(name, D, A, B, value) LANE2_ROW(name, D, A, B, ANYWHERE, 0)
#define LANE2S(name, D, A, B, value) LANE2_ROW(name, D, A, B, ANYWHERE | MOD_CLAMP, 0)
#define LANE3(name, D, A, B, C, value) LANE3_ROW(name, "d012", D, A, B, C, MOD_DPP, 0)
#define LANE3K(name, D, A, B, value) \
    ROW(name, "x01", TYPE_##A, TYPE_##A, TYPE_##B, TYPE_##A, \
        RESULT_MODS_##A | SOURCE_MODS_##A | SOURCE_MODS_##B | ANYWHERE, 0)
#define LANE3S(name, D, A, B, C, value) LANE3_ROW(name, "d012", D, A, B, C, MOD_CLAMP | MOD_DPP, 0)
#define LANE3B LANE3
#define HALF2W(name, D, A, B, value) LANE2_ROW(name, D, A, B, MOD_OP_SEL | MOD_DPP, 0)
#define HALF2S(name, D, A, B, value) LANE2_ROW(name, D, A, B, MOD_OP_SEL | MOD_CLAMP | MOD_DPP, 0xff)
#define HALF3(name, D, A, B, C, value) LANE3_ROW(name, "d012", D, A, B, C, MOD_OP_SEL | MOD_DPP, 0xff)
#define HALF3S(name, D, A, B, C, value) LANE3_ROW(name, "d012", D, A, B, C, MOD_OP_SEL | MOD_CLAMP | MOD_DPP, 0xff)
#define HALF3W(name, D, A, B, C, value) LANE3_ROW(name, "d012", D, A, B, C, MOD_OP_SEL | MOD_CLAMP | MOD_DPP, 0)
#define HALF3B HALF3

static const Row rows[] = {
#include "isa/valu.def"
};

const RowTable isa_valu = {rows, sizeof rows / sizeof *rows};

/* All instruction tables. A family that is not listed here is not emulated. */
#include "isa/rows.h"

#define TABLES(X) \
    X(isa_sop) X(isa_control) X(isa_smem) X(isa_scalar_stores) X(isa_valu) X(isa_valu_special) X(isa_vopc) X(isa_packed) X(isa_convert) \
    X(isa_mfma) X(isa_mfma_scale) X(isa_rdna) X(isa_wmma) X(isa_lds) X(isa_gws) X(isa_global)

#define X(table) extern const RowTable table;
TABLES(X)
#undef X

const RowTable *const isa_tables[] = {
#define X(table) &table,
    TABLES(X)
#undef X
};
const u32 isa_table_count = sizeof isa_tables / sizeof *isa_tables;

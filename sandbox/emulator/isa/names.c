/* The other names of rows, see names.def. */
#include "isa/names.h"

#define SAME(other, mnemonic) {#other, #mnemonic},
#define ATOMICS(other, suffix) \
    SAME(global_##other, global_##suffix) SAME(flat_##other, flat_##suffix) SAME(buffer_##other, buffer_##suffix)
#define SEGMENTS(other, suffix) ATOMICS(other, suffix) SAME(scratch_##other, scratch_##suffix)

const OtherName isa_other_names[] = {
#include "isa/names.def"
};
const u32 isa_other_name_count = sizeof isa_other_names / sizeof *isa_other_names;
